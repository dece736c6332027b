"""The model's side of the engine: requests in from any thread, increments out to their listeners."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from chainserve.engine.cpu.pipeline import CACHE_FULL, Piece, Pieces
from chainserve.engine.cpu.requests import SequenceRequest
from chainserve.engine.cpu.sequence import Sequence, Submission
from chainserve.errors import EngineDead, InvalidInput, Unavailable

GONE_CHECK_NS = 30_000_000
"""A listener is asked this often whether it is still there: asking Triton costs a message to its process."""


class Link(Protocol):
    """The way to the pipeline; chainserve.engine.cpu.link."""

    def add(self, number: int, request: SequenceRequest) -> None: ...

    def stop(self, number: int) -> None: ...

    def receive(self) -> Pieces: ...


@dataclass
class Totals:
    """Since the start. `active` sequences are waiting or running now; tokens count when a sequence ends."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    active: int = 0


class CpuEngine:
    """One thread waits for the pipeline's steps and tells the listeners.

    Args:
        link: to the pipeline.
        token_bytes: raw bytes of an id; b"" for a special token.
        max_waiting: sequences at the same time.
        on_step: called on the engine's thread when a step has been told; gets the totals.
        on_death: called on the engine's thread after every listener was told that the engine is gone.
    """

    def __init__(
        self,
        link: Link,
        token_bytes: Callable[[int], bytes],
        max_waiting: int,
        on_step: Callable[[Totals], None],
        on_death: Callable[[EngineDead], None],
    ) -> None:
        self._link, self._token_bytes, self._max_waiting = link, token_bytes, max_waiting
        self._on_step, self._on_death = on_step, on_death
        self._running: dict[int, Sequence] = {}
        self._totals = Totals()
        self._lock = threading.Lock()
        self._death: EngineDead | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until the engine is gone: its link was closed."""
        self._thread.join()

    def submit(self, *submissions: Submission) -> None:
        """Raises:
        EngineDead: the engine is gone.
        Unavailable: it has no room for all of them; none was taken.
        """
        with self._lock:
            self._check_room(len(submissions))
            for submission in submissions:
                self._totals.requests += 1
                self._running[self._totals.requests] = Sequence(submission, self._token_bytes)
                # A dead link is found by the engine's thread too, and that tells every listener.
                with suppress(EngineDead):
                    self._link.add(self._totals.requests, submission.request)

    def cancel(self, request_id: str) -> None:
        """Stop every sequence of that request: each ends with what it has. Returns at once; "" is nobody's id."""
        with self._lock:
            numbers = [
                n for n, each in self._running.items() if request_id and each.submission.request_id == request_id
            ]
            self._stop(numbers)

    def _check_room(self, count: int) -> None:
        if self._death is not None:
            raise self._death.with_traceback(None)  # each caller adds its own
        if len(self._running) + count > self._max_waiting:
            raise Unavailable(f"the engine is full: it holds at most {self._max_waiting} sequences")

    def _run(self) -> None:
        try:
            while True:
                self._tell(self._link.receive())
                self._stop_gone()
                self._totals.active = len(self._running)
                self._on_step(self._totals)
        except EngineDead as death:
            self._die(death)
        except Exception as error:  # noqa: BLE001 whatever broke, nobody may wait for ever
            self._die(EngineDead(f"its thread failed with {type(error).__name__}"))

    def _tell(self, pieces: Pieces) -> None:
        for number, piece in pieces:
            sequence = self._running.get(number)
            if sequence is None:
                continue
            if piece.finish is not None or piece.problem:
                self._remove(number, piece)
            self._tell_one(sequence, piece)

    def _tell_one(self, sequence: Sequence, piece: Piece) -> None:
        if piece.problem:
            sequence.listener.fail(_problem(sequence, piece))
        elif (increment := sequence.take(piece)) is not None:
            sequence.listener.receive(increment)

    def _remove(self, number: int, piece: Piece) -> None:
        with self._lock:
            ended = self._running.pop(number)
        self._totals.input_tokens += piece.cost.computed_tokens
        self._totals.output_tokens += ended.output_tokens + len(piece.ids)

    def _stop_gone(self) -> None:
        now = time.monotonic_ns()
        for number, sequence in tuple(self._running.items()):
            if now - sequence.gone_checked_ns > GONE_CHECK_NS:
                sequence.gone_checked_ns = now
                if sequence.listener.gone():
                    self._stop([number])

    def _stop(self, numbers: list[int]) -> None:
        for number in numbers:
            with suppress(EngineDead):  # likewise
                self._link.stop(number)

    def _die(self, death: EngineDead) -> None:
        with self._lock:
            self._death = death
            orphans, self._running = tuple(self._running.values()), {}
        for sequence in orphans:
            sequence.listener.fail(death)
        self._on_death(death)


def _problem(sequence: Sequence, piece: Piece) -> Exception:
    if piece.problem == CACHE_FULL:
        return Unavailable(piece.problem)
    guided = sequence.submission.request.decoding.guide is not None
    return InvalidInput("guided_decoding_guide" if guided else "bad_words_list", piece.problem)
