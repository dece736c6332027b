"""`tensorrt_llm` over one gRPC stream and over HTTP, as plain values."""

import json
import queue
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from chainserve.triton_io.contract import TENSORRT_LLM

_KINDS = {
    "TYPE_INT32": ("INT32", np.int32),
    "TYPE_UINT64": ("UINT64", np.uint64),
    "TYPE_FP16": ("FP16", np.float16),
    "TYPE_FP32": ("FP32", np.float32),
    "TYPE_BOOL": ("BOOL", np.bool_),
    "TYPE_STRING": ("BYTES", np.object_),
}
_TYPES = {tensor.name: _KINDS[tensor.dtype] for tensor in TENSORRT_LLM.inputs}
WAIT_S = 120

Answer = dict[str, list[Any]]


@dataclass
class Stream:
    """One gRPC stream. Responses are dicts of flat lists; the last of a request is followed by `final`."""

    url: str
    arrived: "queue.Queue[tuple[Any, Any]]" = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        self.client = triton.InferenceServerClient(self.url)
        self.client.start_stream(lambda result, error: self.arrived.put((result, error)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_stream(cancel_requests=True)
        self.client.close()

    def send(self, request_id: str = "", **fields: Any) -> None:
        self.client.async_stream_infer(
            "tensorrt_llm", _inputs(fields), request_id=request_id, enable_empty_final_response=True
        )

    def next(self) -> tuple[str, Answer, bool]:
        """Request id, outputs, whether it was the last."""
        result, error = self.arrived.get(timeout=WAIT_S)
        if error is not None:
            raise error
        message = result.get_response()
        outputs = {each.name: result.as_numpy(each.name).reshape(-1).tolist() for each in message.outputs}
        return message.id, outputs, bool(message.parameters["triton_final_response"].bool_param)

    def responses(self, **fields: Any) -> list[Answer]:
        self.send(**fields)
        return list(self._until_final())

    def drain(self) -> list[Answer]:
        """What still comes of the only request, to its end."""
        return list(self._until_final())

    def one(self, **fields: Any) -> Answer:
        (answer,) = self.responses(**fields)
        return answer

    def error(self, **fields: Any) -> str:
        try:
            self.responses(**fields)
        except InferenceServerException as error:
            return str(error.message())
        return ""

    def _until_final(self) -> Iterator[Answer]:
        final = False
        while not final:
            _, outputs, final = self.next()
            if outputs:
                yield outputs


def request(ids: list[int], output: int = 16, **more: Any) -> dict[str, Any]:
    return {"input_ids": ids, "input_lengths": len(ids), "request_output_len": output, **more}


def _inputs(fields: dict[str, Any]) -> list[Any]:
    return [_input(name, value) for name, value in fields.items() if value is not None]


def _input(name: str, value: Any) -> Any:
    kind, dtype = _TYPES[name]
    array = np.array(value.encode() if isinstance(value, str) else value, dtype=dtype)
    array = array.reshape((1, 1) if array.ndim == 0 else (1, *array.shape))
    tensor = triton.InferInput(name, list(array.shape), kind)
    tensor.set_data_from_numpy(array)
    return tensor


def post(url: str, fields: dict[str, Any]) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, data=json.dumps(fields).encode(), timeout=WAIT_S) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(metrics_url: str, name: str) -> float:
    with urllib.request.urlopen(metrics_url, timeout=10) as page:
        lines = page.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def joined(answers: list[Answer]) -> list[int]:
    return [number for answer in answers for number in answer["output_ids"]]


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
