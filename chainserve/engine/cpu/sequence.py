"""One running sequence: what was read, what is held back, what it cost."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from chainserve.engine.cpu.characters import CharacterHold
from chainserve.engine.cpu.pipeline import Handle, Piece
from chainserve.engine.cpu.requests import Increment, Listener, SequencePerf, SequenceRequest
from chainserve.engine.cpu.words import StopWords
from chainserve.messages import FinishReason


@dataclass(frozen=True)
class Submission:
    """A request on its way to the engine's thread. `request_id` names it for `cancel`; "" cannot be cancelled."""

    request_id: str
    request: SequenceRequest
    listener: Listener
    arrival_ns: int = field(default_factory=time.monotonic_ns)


class Sequence:
    def __init__(self, submission: Submission, handle: Handle, token_bytes: Callable[[int], bytes]) -> None:
        self.submission, self.handle = submission, handle
        self.perf = SequencePerf(arrival_ns=submission.arrival_ns, first_scheduled_ns=time.monotonic_ns())
        self.generated: list[int] = []
        self._hold = CharacterHold(token_bytes)
        self._stop_words = StopWords(submission.request.decoding.stop_words)

    @property
    def listener(self) -> Listener:
        return self.submission.listener

    def advance(self) -> Increment | None:
        """Read what the last step gave. None: nothing to tell. An increment with `finish` is the last."""
        piece = self.handle.read()
        if piece is None:
            return None
        self._count(piece)
        ids, log_probs, finish = self._cut(piece)
        released = self._hold.push(ids, log_probs)
        if finish is not None:
            return self.end(finish, released)
        return Increment(*released) if released[0] else None

    def end(self, finish: FinishReason, released: tuple[tuple[int, ...], tuple[float, ...]] = ((), ())) -> Increment:
        """The last increment: with `released`, everything that was held."""
        held = self._hold.flush()
        return Increment(released[0] + held[0], released[1] + held[1], finish, self.perf)

    def _count(self, piece: Piece) -> None:
        if not piece.ids:
            return
        now = time.monotonic_ns()
        self.generated += piece.ids
        self.perf = replace(self.perf, first_token_ns=self.perf.first_token_ns or now, last_token_ns=now)

    def _cut(self, piece: Piece) -> tuple[list[int], list[float], FinishReason | None]:
        """Without the end id, which NVIDIA's engine does not return, and after a stop word nothing."""
        ids, log_probs, finish = list(piece.ids), list(piece.log_probs), piece.finish
        kept = self._stop_words.match(ids)
        if kept is not None:
            self.handle.stop()
            return ids[:kept], log_probs[:kept], FinishReason.STOP
        if finish is FinishReason.STOP and ids and ids[-1] in self.submission.request.decoding.end_ids:
            return ids[:-1], log_probs[:-1], finish
        return ids, log_probs, finish
