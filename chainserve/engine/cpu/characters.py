"""Holding back ids until the characters they spell are whole."""

import codecs
from collections.abc import Callable, Sequence


class CharacterHold:
    """A byte-level token may end in the middle of a character. Whoever decodes an increment on its own would see
    U+FFFD there, so ids wait here, with their log-probabilities, until no character is open.

    Args:
        token_bytes: raw bytes of an id; b"" for a special token.
    """

    def __init__(self, token_bytes: Callable[[int], bytes]) -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._ids: list[int] = []
        self._log_probs: list[float] = []

    def push(self, ids: Sequence[int], log_probs: Sequence[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The ids that can leave now, in order, and their log-probabilities where these were given."""
        whole = len(self._ids) if not self._open() else 0
        for place, token_id in enumerate(ids, start=len(self._ids) + 1):
            self._decoder.decode(self._token_bytes(token_id))
            whole = whole if self._open() else place
        self._ids += ids
        self._log_probs += log_probs
        return self._take(whole)

    def flush(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The end: everything leaves, whole or broken."""
        return self._take(len(self._ids))

    def _open(self) -> bool:
        return bool(self._decoder.getstate()[0])

    def _take(self, count: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        ids, self._ids = tuple(self._ids[:count]), self._ids[count:]
        log_probs, self._log_probs = tuple(self._log_probs[:count]), self._log_probs[count:]
        return ids, log_probs
