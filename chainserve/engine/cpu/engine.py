"""The engine's thread: admit, step, read, tell; over and over while anything runs."""

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from chainserve.engine.cpu.pipeline import Pipeline
from chainserve.engine.cpu.requests import Increment
from chainserve.engine.cpu.sequence import Sequence, Submission
from chainserve.errors import EngineDead
from chainserve.messages import FinishReason


@dataclass(frozen=True)
class Cancel:
    request_id: str


class Shutdown:
    """Ends the thread; what runs is failed."""


class CpuEngine:
    """Requests in from any thread, increments out to their listeners.

    Args:
        pipeline: used by the engine's thread alone.
        token_bytes: raw bytes of an id; b"" for a special token.
    """

    def __init__(self, pipeline: Pipeline, token_bytes: Callable[[int], bytes]) -> None:
        self._pipeline, self._token_bytes = pipeline, token_bytes
        self._inbox: queue.SimpleQueue[Submission | Cancel | Shutdown] = queue.SimpleQueue()
        self._running: list[Sequence] = []
        self._number = 0
        self._lock = threading.Lock()
        self._death: EngineDead | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, *submissions: Submission) -> None:
        """Raises:
        EngineDead: the engine's thread has ended; the listeners were told nothing.
        """
        with self._lock:
            if self._death is not None:
                raise self._death
            for submission in submissions:
                self._inbox.put(submission)

    def cancel(self, request_id: str) -> None:
        """Stop every sequence of that request; each listener gets a last increment. Returns at once."""
        self._inbox.put(Cancel(request_id))

    def stop(self) -> None:
        self._inbox.put(Shutdown())
        self._thread.join()

    @property
    def alive(self) -> bool:
        return self._death is None

    def _run(self) -> None:
        try:
            while self._take_in():
                self._pipeline.step()
                self._tell()
                self._drop_gone()
            self._die(EngineDead("it was stopped"))
        except Exception as error:  # noqa: BLE001 whatever broke, nobody may wait for ever
            self._die(EngineDead(f"a step failed with {type(error).__name__}"))

    def _take_in(self) -> bool:
        """Handle what came in; wait when nothing runs. False: shut down."""
        while True:
            wait = not self._running and not self._pipeline.busy()
            try:
                item = self._inbox.get(block=wait)
            except queue.Empty:
                return True
            if isinstance(item, Shutdown):
                return False
            if isinstance(item, Cancel):
                self._cancel(item.request_id)
            else:
                self._admit(item)

    def _admit(self, submission: Submission) -> None:
        self._number += 1
        try:
            handle = self._pipeline.add(self._number, submission.request)
        except Exception as error:  # noqa: BLE001 one bad request must not end the others
            submission.listener.fail(error)
            return
        self._running.append(Sequence(submission, handle, self._token_bytes))

    def _tell(self) -> None:
        for sequence in tuple(self._running):
            increment = sequence.advance()
            if increment is not None:
                self._deliver(sequence, increment)

    def _deliver(self, sequence: Sequence, increment: Increment) -> None:
        if increment.finish is not None:
            self._running.remove(sequence)
        sequence.listener.receive(increment)

    def _cancel(self, request_id: str) -> None:
        for sequence in tuple(self._running):
            if request_id and sequence.submission.request_id == request_id:
                self._stop(sequence)

    def _stop(self, sequence: Sequence) -> None:
        sequence.handle.stop()
        self._deliver(sequence, sequence.end(FinishReason.CANCELLED))

    def _drop_gone(self) -> None:
        for sequence in tuple(self._running):
            if sequence.listener.gone():
                self._stop(sequence)

    def _die(self, death: EngineDead) -> None:
        with self._lock:
            self._death = death
        for sequence in self._running:
            sequence.listener.fail(death)
        self._running = []
        while not self._inbox.empty():
            item = self._inbox.get()
            if isinstance(item, Submission):
                item.listener.fail(death)
