"""Stop words on text: a stop string ends the answer however it was cut into tokens."""

from dataclasses import dataclass, field


@dataclass
class StopWords:
    """Holds back the end of the text while it may still become a stop word."""

    words: tuple[str, ...]
    stopped: bool = False
    _held: str = field(default="", init=False)

    def push(self, text: str) -> str:
        """The text that can no longer be part of a stop word. After a match: the text before it, then nothing."""
        if self.stopped:
            return ""
        text = self._held + text
        at = min((i for i in (text.find(word) for word in self.words) if i >= 0), default=None)
        if at is not None:
            self.stopped, self._held = True, ""
            return text[:at]
        keep = max((_overlap(text, word) for word in self.words), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """What was held back, once no more text comes."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, word: str) -> int:
    """Length of the longest end of `text` that is a proper beginning of `word`."""
    longest = min(len(text), len(word) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(word[:n])), 0)
