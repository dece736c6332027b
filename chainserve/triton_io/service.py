"""The worker loop of the decoupled models: many requests held at once, each answered in its own time."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.errors import Cancelled
from chainserve.triton_io.cancellation import CancelWatch
from chainserve.triton_io.errors import error_response
from chainserve.triton_io.in_flight import InFlight, release_metrics
from chainserve.triton_io.loop import EventLoopThread

_FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


@dataclass(eq=False)
class RequestSender:
    """The way back to one client; every way to finish closes it exactly once.

    A closed request must not be asked for its cancellation: Triton has freed what it would look at, and dies. The lock
    keeps the two apart.
    """

    sender: Any
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, tensors: list[Any]) -> None:
        self.sender.send(pb_utils.InferenceResponse(output_tensors=tensors))

    def close(self, tensors: list[Any]) -> None:
        """Send the last response."""
        self._close(pb_utils.InferenceResponse(output_tensors=tensors))

    def fail(self, error: BaseException) -> None:
        self._close(error_response(error))

    def gone(self) -> bool:
        """Whether the client left an open request; from any thread."""
        with self._lock:
            return not self._closed and bool(self.sender.is_cancelled())

    def _close(self, response: Any) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self.sender.send(response, flags=_FINAL)


class DecoupledModel:
    """`execute` hands requests to an event loop and returns. Each is a task, cancelled when its client leaves."""

    def start(self, name: str, workers: int) -> None:
        """To be called at the end of `initialize`; `workers` bounds the blocking calls that wait at the same time."""
        self.loop = EventLoopThread(name, workers)
        self._watch = CancelWatch()
        self._in_flight = InFlight(name)
        self.loop.start()
        self._watch.start()

    async def answer(self, request: Any, sender: RequestSender) -> None:
        """Answer one request, and close it."""
        raise NotImplementedError

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            self._in_flight.enter()
            self.loop.submit(self._serve(request))

    def finalize(self) -> None:
        self._watch.stop()
        self.loop.stop()
        release_metrics(self)

    async def _serve(self, request: Any) -> None:
        sender = RequestSender(request.get_response_sender())
        answer = asyncio.create_task(self.answer(request, sender))
        self._watch.add(sender, lambda: self.loop.call_soon(answer.cancel))
        try:
            await answer
        except asyncio.CancelledError:
            sender.fail(Cancelled())
        except Exception as error:  # noqa: BLE001 whatever broke, the client gets an answer
            sender.fail(error)
        finally:
            self._watch.remove(sender)
            self._in_flight.leave()
