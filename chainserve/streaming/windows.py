"""Which piece of a growing text is checked next, and how far it may be released once the check passed."""

import unicodedata
from dataclasses import dataclass

from pydantic import Field

from chainserve.config import Settings


class WindowPolicy(Settings):
    """`[streaming]` of chain.toml, in characters."""

    first_chars: int = Field(ge=1, description="new text in the first window: what the first approved text waits for")
    growth: float = Field(ge=1.0, description="each window holds this times the new text of the one before")
    max_chars: int = Field(ge=1)
    overlap_chars: int = Field(ge=0, description="text before a window that is checked again with it")


@dataclass(frozen=True)
class Window:
    """`text[start:end]` goes to the check; when it passes, everything before `end` is cleared."""

    start: int
    end: int


class WindowPlan:
    """Windows over one answer: they start small, grow, overlap, and end where a word ends."""

    def __init__(self, policy: WindowPolicy) -> None:
        self._policy = policy
        self._new_chars = float(policy.first_chars)
        self._covered = 0

    def next(self, text: str, *, complete: bool) -> Window | None:
        """The next window of `text`, or None while too little new text is there.

        With `complete` (no more text comes) the rest is taken, in windows of at most `max_chars`.
        """
        fresh = len(text) - self._covered
        if fresh == 0 or (fresh < self._new_chars and not complete):
            return None
        end = min(len(text), self._covered + self._policy.max_chars)
        if not (complete and end == len(text)):
            end = boundary(text, self._covered, end)
        if end == self._covered:
            return None if fresh < self._policy.max_chars else self._take(self._covered + self._policy.max_chars)
        return self._take(end)

    def _take(self, end: int) -> Window:
        start = max(0, self._covered - self._policy.overlap_chars)
        self._covered = end
        self._new_chars = min(self._policy.max_chars, self._new_chars * self._policy.growth)
        return Window(start, end)


def boundary(text: str, low: int, high: int) -> int:
    """The last place in (low, high] where `text` can be cut: not inside a Latin word or a number, not before a mark
    that belongs to the character before it. `low` when there is none. Every CJK character is a word of its own.
    """
    for at in range(high, low, -1):
        if _cuts(text, at):
            return at
    return low


def _cuts(text: str, at: int) -> bool:
    before = text[at - 1]
    if at == len(text):
        return before.isspace() or _is_wide(before) or unicodedata.category(before).startswith("P")
    return not (_joins(before, text[at]) or unicodedata.combining(text[at]))


def _joins(before: str, after: str) -> bool:
    return not (before.isspace() or after.isspace() or _is_wide(before) or _is_wide(after))


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in {"W", "F"}
