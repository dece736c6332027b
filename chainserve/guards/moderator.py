"""The primary guard: heads over the bilingual encoder, the highest score over segments, and rules for personal data."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chainserve.encoder import SentenceEncoder, load_encoder
from chainserve.guards import pii
from chainserve.guards.decision import Check, columns, decide
from chainserve.guards.normalise import normalise
from chainserve.guards.segments import segments
from chainserve.guards.settings import ModerationSettings
from chainserve.heads import Floats, Head, load_head
from chainserve.messages import Verdict


class Moderator:
    def __init__(self, encoder: SentenceEncoder, head: Head, settings: ModerationSettings) -> None:
        """`head` is one that was trained on `encoder`.

        Raises:
            InvalidInput: the head and the settings name different categories.
        """
        self._encoder, self._head, self._settings = encoder, head, settings
        self._columns = columns(head.labels, settings)

    @classmethod
    def load(cls, folder: Path, settings: ModerationSettings) -> "Moderator":
        encoder = load_encoder(settings.encoder, settings.threads)
        return cls(encoder, load_head(folder / settings.heads, encoder.dimension), settings)

    def moderate(self, checks: Sequence[Check]) -> list[Verdict]:
        """One verdict a check; all segments of all texts in one pass of the encoder."""
        scores = self.scores([check.text for check in checks])
        return [
            decide(row.tolist(), check.role, self._settings, "moderation")
            for row, check in zip(scores, checks, strict=True)
        ]

    def scores(self, texts: Sequence[str]) -> Floats:
        """Shape [n, categories], in the order of the settings; an empty text scores 0 throughout."""
        plain = [normalise(text) for text in texts]
        learned = self._highest([self._segments(text) for text in plain])
        ruled = np.array([pii.score(text) for text in plain], dtype=np.float32)
        ordered: Floats = np.column_stack([learned, ruled])[:, self._columns]
        return ordered

    def _segments(self, text: str) -> list[str]:
        return segments(text, self._encoder, self._settings.window_tokens, self._settings.overlap_tokens)

    def _highest(self, pieces: list[list[str]]) -> Floats:
        """For each text the highest probability over its segments, [n, labels]."""
        flat = [piece for text in pieces for piece in text]
        highest = np.zeros((len(pieces), len(self._head.labels)), dtype=np.float32)
        if not flat:
            return highest
        owners = np.repeat(np.arange(len(pieces)), [len(text) for text in pieces])
        np.maximum.at(highest, owners, _sigmoid(self._head.logits(self._encoder.encode(flat), flat)))
        return highest


def _sigmoid(logits: Floats) -> Floats:
    probabilities: Floats = 1.0 / (1.0 + np.exp(-logits))
    return probabilities
