"""Calls from a model to other models of the same server (Triton's business logic scripting, BLS)."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.errors import StageFailed
from chainserve.triton_io.contract import CONTRACTS
from chainserve.triton_io.errors import error_from_triton
from chainserve.triton_io.loop import EventLoopThread
from chainserve.triton_io.tensors import Array, output

_END = object()


class Response:
    """The outputs of one response, by name."""

    def __init__(self, response: Any) -> None:
        self._tensors = {tensor.name(): tensor for tensor in response.output_tensors()}

    @property
    def empty(self) -> bool:
        return not self._tensors

    def array(self, name: str) -> Array | None:
        tensor = self._tensors.get(name)
        return None if tensor is None else tensor.as_numpy()

    def required(self, name: str) -> Array:
        array = self.array(name)
        if array is None:
            raise StageFailed("chain", f"an answer without {name}")
        return array

    def text(self, name: str) -> str:
        return bytes(self.required(name).reshape(-1)[0]).decode("utf-8")


@dataclass(frozen=True)
class ModelCalls:
    """Calls to one model, for some of its outputs. Values are given without the batch dimension; one row a call."""

    model: str
    outputs: tuple[str, ...]
    loop: EventLoopThread

    async def once(self, inputs: Mapping[str, Any]) -> Response:
        """The model's only response.

        Raises:
            ChainserveError: the model answered with an error; the kind is kept.
        """
        request = self.request(inputs)
        return self._checked(await self.loop.blocking(request.exec))

    async def stream(self, inputs: Mapping[str, Any], request_id: str) -> AsyncGenerator[Response, None]:
        """Every response of a decoupled model. A thread waits for them: Triton's iterator blocks.

        Raises:
            ChainserveError: the model answered with an error, or ended with an empty response: a stopped request, or
                one whose error Triton 24.10 lost on the way.
        """
        arrived: asyncio.Queue[Any] = asyncio.Queue()
        request = self.request(inputs, request_id)
        self.loop.start_blocking(lambda: self._pump(request, arrived))
        whole = False
        while (item := await arrived.get()) is not _END:
            if isinstance(item, BaseException):
                raise item
            response = self._checked(item)
            whole = not response.empty
            if whole:
                yield response
        if not whole:
            raise StageFailed(self.model, "ended in the middle of its answer")

    def _pump(self, request: Any, arrived: "asyncio.Queue[Any]") -> None:
        """Runs in the pool, to the very end: leaving a decoupled iterator early would drain it anyway."""

        def put(item: Any) -> None:
            self.loop.loop.call_soon_threadsafe(arrived.put_nowait, item)

        try:
            for response in self._responses(request):
                put(response)
        except Exception as error:  # noqa: BLE001 raised again where the stream is read
            put(error)
        put(_END)

    def drain(self, request: Any) -> None:
        """Send a request whose answers nobody wants; blocks until its last one."""
        for _ in self._responses(request):
            pass

    def _responses(self, request: Any) -> Iterator[Any]:
        responses = request.exec(decoupled=True)
        yield from responses
        self.loop.retired.add(responses)

    def request(self, inputs: Mapping[str, Any], request_id: str = "") -> Any:
        dtypes = _dtypes(self.model)
        return pb_utils.InferenceRequest(
            model_name=self.model,
            request_id=request_id,
            requested_output_names=list(self.outputs),
            inputs=[_row(name, dtypes[name], value) for name, value in inputs.items() if value is not None],
        )

    def _checked(self, response: Any) -> Response:
        if response.has_error():
            raise error_from_triton(self.model, response.error())
        return Response(response)


@cache
def _dtypes(model: str) -> dict[str, str]:
    return {tensor.name: tensor.dtype for tensor in CONTRACTS[model].inputs}


def _row(name: str, dtype: str, value: Any) -> Any:
    """One row: a scalar becomes [1, 1], a list [1, n], a table [1, m, n]."""
    tensor = output(name, dtype, value)
    array = tensor.as_numpy()
    shape = (1, 1) if array.ndim == 0 else (1, *array.shape)
    return pb_utils.Tensor(name, array.reshape(shape))
