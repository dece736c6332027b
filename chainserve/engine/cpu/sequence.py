"""One sequence on its way through the engine: what is held back, and where it ended."""

import time
from collections import abc
from dataclasses import dataclass, field, replace

from chainserve.engine.cpu.characters import CharacterHold
from chainserve.engine.cpu.pipeline import Cost, Piece
from chainserve.engine.cpu.requests import Increment, Listener, SequencePerf, SequenceRequest
from chainserve.messages import FinishReason

Ids = abc.Sequence[int]
LogProbs = abc.Sequence[float]
Released = tuple[tuple[int, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Submission:
    """A request for one sequence. `request_id` names it for `cancel`; "" cannot be cancelled by name."""

    request_id: str
    request: SequenceRequest
    listener: Listener
    arrival_ns: int = field(default_factory=time.monotonic_ns)


class Sequence:
    """Used by the engine's thread."""

    def __init__(self, submission: Submission, token_bytes: abc.Callable[[int], bytes]) -> None:
        self.submission = submission
        self.gone_checked_ns = submission.arrival_ns
        self.output_tokens = 0
        self._perf = SequencePerf(arrival_ns=submission.arrival_ns)
        self._hold = CharacterHold(token_bytes)

    @property
    def listener(self) -> Listener:
        return self.submission.listener

    def take(self, piece: Piece) -> Increment | None:
        """The increment that a step makes, None when there is nothing to tell. One with `finish` is the last."""
        self._count(piece)
        released = self._hold.push(*self._without_end_id(piece))
        if piece.finish is not None:
            return self._last(piece.finish, released, piece.cost)
        return Increment(*released) if released[0] else None

    def _count(self, piece: Piece) -> None:
        if piece.ids:
            first = self._perf.first_token_ns or piece.at_ns
            self._perf = replace(self._perf, first_token_ns=first, last_token_ns=piece.at_ns)
            self.output_tokens += len(piece.ids)

    def _without_end_id(self, piece: Piece) -> tuple[Ids, LogProbs]:
        """TensorRT-LLM does not return the end id (stopCriteriaKernels.cu)."""
        ends = piece.ids and piece.ids[-1] in self.submission.request.decoding.end_ids
        if piece.finish is FinishReason.STOP and ends:
            return piece.ids[:-1], piece.log_probs[:-1]
        return piece.ids, piece.log_probs

    def _last(self, finish: FinishReason, released: Released, cost: Cost) -> Increment:
        """With what was held."""
        held = self._hold.flush()
        perf = replace(
            self._perf,
            first_scheduled_ns=cost.scheduled_ns,
            new_blocks=cost.new_blocks,
            reused_blocks=cost.reused_blocks,
        )
        return Increment(released[0] + held[0], released[1] + held[1], finish, perf)
