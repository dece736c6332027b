"""The boundary to the library that runs the model: batching, the paged KV cache and sampling are its business."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chainserve.engine.cpu.requests import SequenceRequest
from chainserve.messages import FinishReason


@dataclass(frozen=True)
class Cost:
    """What a sequence took. Blocks are blocks of the paged KV cache, `scheduled_ns` is on the monotonic clock.

    `computed_tokens` are the prompt's tokens that were not found in the cache.
    """

    scheduled_ns: int = 0
    computed_tokens: int = 0
    new_blocks: int = 0
    reused_blocks: int = 0


@dataclass(frozen=True)
class Piece:
    """What one sequence gained in a step that ended at `at_ns`. `finish` or `problem` ends the sequence.

    `problem` is text for the client: the sequence could not be run as it was asked for.
    """

    ids: Sequence[int] = ()
    log_probs: Sequence[float] = ()
    at_ns: int = 0
    finish: FinishReason | None = None
    cost: Cost = Cost()
    problem: str = ""


CACHE_FULL = "the KV cache is full"
"""The problem of a sequence that was asked for rightly and found no room."""

Pieces = list[tuple[int, Piece]]
"""By the number that `add` was given."""


class Pipeline(Protocol):
    """Used by one thread."""

    def add(self, number: int, request: SequenceRequest) -> None:
        """Queue a checked request; it takes part from the next step on. `number` is new with every call."""
        ...

    def stop(self, number: int) -> Cost | None:
        """End a sequence and give its slot back: no step reports it any more. None where it is not running."""
        ...

    def step(self) -> Pieces:
        """Run the model once over everything that is scheduled."""
        ...

    def busy(self) -> bool:
        """Whether a step would do anything."""
        ...


@dataclass
class _Scripted:
    request: SequenceRequest
    generated: int = 0


@dataclass
class ScriptedPipeline:
    """The fake: every sequence gets the same ids, one a step; `failure` breaks the next step."""

    script: Sequence[int]
    failure: Exception | None = None
    added: list[SequenceRequest] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)
    _running: dict[int, _Scripted] = field(default_factory=dict)

    def add(self, number: int, request: SequenceRequest) -> None:
        self.added.append(request)
        self._running[number] = _Scripted(request)

    def stop(self, number: int) -> Cost | None:
        self.stopped.append(number)
        return None if self._running.pop(number, None) is None else Cost()

    def step(self) -> Pieces:
        if self.failure is not None:
            raise self.failure
        pieces = [(number, self._advance(number)) for number in self._running]
        for number, piece in pieces:
            if piece.finish is not None:
                del self._running[number]
        return pieces

    def busy(self) -> bool:
        return bool(self._running)

    def _advance(self, number: int) -> Piece:
        sequence = self._running[number]
        decoding, new = sequence.request.decoding, self.script[sequence.generated]
        sequence.generated += 1
        ended = sequence.generated == min(decoding.max_tokens, len(self.script))
        finish = FinishReason.STOP if new in decoding.end_ids else FinishReason.LENGTH if ended else None
        return Piece((new,), (-0.5,) if decoding.log_probs else (), at_ns=sequence.generated, finish=finish)
