"""Word lists as sequences of ids."""

from collections.abc import Sequence

from chainserve.engine.cpu.requests import Word


class StopWords:
    """Watches the generated ids for the first end of a stop word."""

    def __init__(self, words: tuple[Word, ...]) -> None:
        self._words = words
        self._longest = max(map(len, words), default=0)
        self._tail: list[int] = []

    def match(self, ids: Sequence[int]) -> int | None:
        """How many of the new `ids` are kept when a stop word ends among them; None when none does."""
        if not self._words:
            return None
        for kept, token_id in enumerate(ids, start=1):
            self._tail = [*self._tail, token_id][-self._longest :]
            if any(tuple(self._tail[-len(word) :]) == word for word in self._words):
                return kept
        return None
