"""The boundary to the library that runs the model: batching, the paged KV cache and sampling are its business."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chainserve.engine.cpu.requests import SequenceRequest
from chainserve.messages import FinishReason


@dataclass(frozen=True)
class Piece:
    """What one sequence gained since it was last read. `finish` is set once no more will come."""

    ids: Sequence[int] = ()
    log_probs: Sequence[float] = ()
    finish: FinishReason | None = None


class Handle(Protocol):
    def read(self) -> Piece | None:
        """None when nothing is new."""
        ...

    def stop(self) -> None:
        """Give the slot back at the next step."""
        ...


class Pipeline(Protocol):
    block_size: int
    total_blocks: int

    def add(self, number: int, request: SequenceRequest) -> Handle:
        """Queue a checked request; it takes part from the next step on. `number` is new with every call."""
        ...

    def step(self) -> None:
        """Run the model once over everything that is scheduled. Blocks, and holds Python's lock."""
        ...

    def busy(self) -> bool:
        """Whether a step would do anything."""
        ...


@dataclass
class ScriptedHandle:
    """One id a step, until the script or the budget ends."""

    request: SequenceRequest
    script: Sequence[int]
    generated: int = 0
    unread: list[int] = field(default_factory=list)
    finish: FinishReason | None = None
    stopped: bool = False

    def read(self) -> Piece | None:
        if not self.unread and self.finish is None:
            return None
        ids, self.unread = tuple(self.unread), []
        return Piece(ids, (-0.5,) * len(ids) if self.request.decoding.log_probs else (), self.finish)

    def stop(self) -> None:
        self.stopped = True

    def advance(self) -> None:
        new = self.script[self.generated]
        self.generated += 1
        self.unread.append(new)
        if new in self.request.decoding.end_ids:
            self.finish = FinishReason.STOP
        elif self.generated == min(self.request.decoding.max_tokens, len(self.script)):
            self.finish = FinishReason.LENGTH


@dataclass
class ScriptedPipeline:
    """The fake: every request gets the same ids; `failure` breaks the step it is set at."""

    script: Sequence[int]
    failure: Exception | None = None
    block_size: int = 32
    total_blocks: int = 64
    handles: list[ScriptedHandle] = field(default_factory=list)
    steps: int = 0

    def add(self, number: int, request: SequenceRequest) -> ScriptedHandle:  # noqa: ARG002 a fake has no queue
        self.handles.append(ScriptedHandle(request, self.script))
        return self.handles[-1]

    def step(self) -> None:
        if self.failure is not None:
            raise self.failure
        self.steps += 1
        for handle in self._running():
            handle.advance()

    def busy(self) -> bool:
        return bool(self._running())

    def _running(self) -> list[ScriptedHandle]:
        return [handle for handle in self.handles if handle.finish is None and not handle.stopped]
