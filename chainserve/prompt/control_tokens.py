"""Text from outside must not spell the tokens that end a turn or begin one."""

import re
from collections.abc import Iterable

# A space reads best. Where a marker has one in it: other spaces, narrow, hair, of no width.
_GAPS = (" ", "\u202f", "\u200a", "\u200b")


class ControlTokens:
    """`markers` are the tokenizer's special tokens and whatever else has a meaning in the prompt."""

    def __init__(self, markers: Iterable[str]) -> None:
        # Longest first, or the shorter one of two that begin alike would hide the longer one.
        ordered = sorted({marker for marker in markers if marker}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered)) or r"(?!)", re.IGNORECASE)
        self._gap = next(gap for gap in _GAPS if not any(gap in marker for marker in ordered))

    def neutralise(self, text: str) -> str:
        """`text` with a space after the first character of every marker: still readable, and ordinary text.

        Inserting what is in no marker, unlike removing, cannot join what stood around a marker into another one.
        Markers that overlap are split one after the other.
        """
        while self._pattern.search(text):
            text = self._pattern.sub(self._split, text)
        return text

    def _split(self, match: re.Match[str]) -> str:
        marker = match[0]
        return f"{marker[0]}{self._gap}{marker[1:]}" if len(marker) > 1 else self._gap
