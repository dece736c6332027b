"""Text from outside must not spell the tokens that end a turn or begin one."""

import re
from collections.abc import Iterable


class ControlTokens:
    """`markers` are the tokenizer's special tokens and whatever else has a meaning in the prompt."""

    def __init__(self, markers: Iterable[str]) -> None:
        # Longest first, or the shorter one of two that begin alike would hide the longer one.
        ordered = sorted({marker for marker in markers if marker}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered)) or r"(?!)")

    def neutralise(self, text: str) -> str:
        """`text` with a space after the first character of every marker: still readable, and ordinary text.

        Inserting, unlike removing, cannot join what stood around a marker into another one. Markers that overlap
        are split one after the other.
        """
        while self._pattern.search(text):
            text = self._pattern.sub(_split, text)
        return text


def _split(match: re.Match[str]) -> str:
    marker = match[0]
    return f"{marker[0]} {marker[1:]}" if len(marker) > 1 else " "
