"""The engine's process: steps the pipeline as long as anything runs, and reports each step over a pipe.

A process of its own, because a step holds Python's lock: here nobody else wants it, and in the model's process requests
come in and responses go out while the next step runs. If the library crashes, it takes this process and not the model.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from chainserve.engine.cpu.pipeline import Cost, Piece, Pieces, Pipeline
from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.engine.cpu.words import StopWords
from chainserve.messages import FinishReason

_CHECK_POLL_S = 0.002


@dataclass(frozen=True)
class Add:
    number: int
    request: SequenceRequest


@dataclass(frozen=True)
class Stop:
    number: int


class EngineHost:
    """Args:

    connection: `Add` and `Stop` come in, a list of pieces goes out after every step.
    problem: why a decoding cannot be run, "" when it can. May take long: it runs beside the steps.
    """

    def __init__(
        self, pipeline: Pipeline, connection: "Connection[Any, Any]", problem: Callable[[Decoding], str]
    ) -> None:
        self._pipeline, self._connection, self._problem = pipeline, connection, problem
        self._checks: dict[int, tuple[SequenceRequest, Future[str]]] = {}
        self._checker = ThreadPoolExecutor(1, thread_name_prefix="grammar")
        self._stop_words: dict[int, StopWords] = {}
        self._ended: Pieces = []

    def run(self) -> None:
        """Until the other end closes."""
        try:
            while True:
                self._take_in()
                self._start_checked()
                pieces = self._pipeline.step() if self._pipeline.busy() else []
                self._connection.send(self._take_ended() + [self._at_stop_word(*piece) for piece in pieces])
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
        finally:
            self._checker.shutdown(wait=False, cancel_futures=True)

    def _take_in(self) -> None:
        """Everything that has come in; waits while there is nothing to do."""
        while self._connection.poll(self._patience()):
            item = self._connection.recv()
            if isinstance(item, Add):
                self._add(item)
            else:
                self._stop(item.number)

    def _patience(self) -> float | None:
        if self._pipeline.busy() or self._ended:
            return 0.0
        return _CHECK_POLL_S if self._checks else None

    def _add(self, item: Add) -> None:
        decoding = item.request.decoding
        if decoding.guide is None and not decoding.bad_words:
            self._start(item.number, item.request)
        else:
            self._checks[item.number] = (item.request, self._checker.submit(self._problem, decoding))

    def _start(self, number: int, request: SequenceRequest) -> None:
        self._pipeline.add(number, request)
        if request.decoding.stop_words:
            self._stop_words[number] = StopWords(request.decoding.stop_words)

    def _stop(self, number: int) -> None:
        checked = self._checks.pop(number, None)
        cost = Cost() if checked else self._pipeline.stop(number)
        if cost is not None:
            self._end(number, Piece(finish=FinishReason.CANCELLED, cost=cost))

    def _start_checked(self) -> None:
        for number in [number for number, (_, check) in self._checks.items() if check.done()]:
            request, check = self._checks.pop(number)
            problem = check.result()
            if problem:
                self._end(number, Piece(problem=problem))
            else:
                self._start(number, request)

    def _at_stop_word(self, number: int, piece: Piece) -> tuple[int, Piece]:
        """`piece`, cut after the first stop word: there TensorRT-LLM ends too (stopCriteriaKernels.cu)."""
        words = self._stop_words.get(number)
        kept = words.match(piece.ids) if words else None
        if kept is not None:
            cost = self._pipeline.stop(number) or piece.cost
            piece = Piece(piece.ids[:kept], piece.log_probs[:kept], piece.at_ns, FinishReason.STOP, cost)
        if piece.finish is not None or piece.problem:
            self._stop_words.pop(number, None)
        return number, piece

    def _end(self, number: int, piece: Piece) -> None:
        self._stop_words.pop(number, None)
        self._ended.append((number, piece))

    def _take_ended(self) -> Pieces:
        ended, self._ended = self._ended, []
        return ended
