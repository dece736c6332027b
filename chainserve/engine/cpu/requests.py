"""What goes into the engine and what comes out. Frozen: handed between threads."""

from dataclasses import dataclass
from typing import Protocol

from chainserve.messages import FinishReason, Guide

Word = tuple[int, ...]


@dataclass(frozen=True)
class Decoding:
    """How to choose tokens. The neutral value of a field is its default.

    Attributes:
        max_tokens: ids to generate at most, at least 1.
        end_ids: ids that end the sequence; empty: nothing but `max_tokens` and `stop_words` ends it.
        min_tokens: no end id before so many ids.
        sampled: draw from the distribution; otherwise take the most likely id.
        top_k: draw from so many ids; 0 is all of them.
        top_p: draw from the most likely ids that hold this much probability, in (0, 1].
        stop_words: sequences of ids that end the sequence; they are part of it.
        bad_words: text that must not occur.
    """

    max_tokens: int
    end_ids: tuple[int, ...]
    min_tokens: int = 0
    sampled: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop_words: tuple[Word, ...] = ()
    bad_words: tuple[str, ...] = ()
    guide: Guide | None = None
    log_probs: bool = False


@dataclass(frozen=True)
class SequenceRequest:
    ids: tuple[int, ...]
    decoding: Decoding


@dataclass(frozen=True)
class SequencePerf:
    """Nanoseconds on the monotonic clock; blocks of the paged KV cache. 0 where it never came to that."""

    arrival_ns: int = 0
    first_scheduled_ns: int = 0
    first_token_ns: int = 0
    last_token_ns: int = 0
    new_blocks: int = 0
    reused_blocks: int = 0

    @property
    def total_blocks(self) -> int:
        return self.new_blocks + self.reused_blocks


@dataclass(frozen=True)
class Increment:
    """New ids of one sequence; whole characters. `finish` is set on the last one, which may come with no ids.

    `log_probs` has one entry an id when they were asked for, else none.
    """

    ids: tuple[int, ...]
    log_probs: tuple[float, ...] = ()
    finish: FinishReason | None = None
    perf: SequencePerf = SequencePerf()


class Listener(Protocol):
    """Who waits for a sequence. Called on the engine's thread between two steps: return quickly."""

    def receive(self, increment: Increment) -> None: ...

    def fail(self, error: Exception) -> None:
        """The sequence broke; nothing follows."""
        ...

    def gone(self) -> bool:
        """Whether nobody waits any more. Asked every few milliseconds."""
        ...
