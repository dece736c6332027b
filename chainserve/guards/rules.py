"""The second guard, independent of the first: a table of n-grams, phrases, and the rules for personal data.

In process and without an encoder, well under a millisecond for a sentence: what is left when the primary guard is late
or down. It knows words, not meaning, so it misses more (docs/models/moderation.md).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chainserve.guards import pii
from chainserve.guards.decision import Check, columns, decide
from chainserve.guards.normalise import normalise
from chainserve.guards.segments import sentences
from chainserve.guards.settings import RulesSettings
from chainserve.heads import Floats, Head, load_head
from chainserve.messages import Verdict


class RuleGuard:
    def __init__(self, table: Head, settings: RulesSettings) -> None:
        """`table` is a head that takes no vector: n-grams and a bias alone.

        Raises:
            InvalidInput: the table and the settings name different categories.
        """
        self._table, self._settings = table, settings
        self._columns = columns(table.labels, settings)

    @classmethod
    def load(cls, folder: Path, settings: RulesSettings) -> "RuleGuard":
        return cls(load_head(folder / settings.table, 0), settings)

    def moderate(self, checks: Sequence[Check]) -> list[Verdict]:
        return [decide(self.scores(check.text), check.role, self._settings, "rules") for check in checks]

    def scores(self, text: str) -> list[float]:
        """In the order of the settings; an empty text scores 0 throughout."""
        plain = normalise(text)
        if not plain:
            return [0.0] * len(self._columns)
        found = [*self._worst_sentence(plain).tolist(), pii.score(plain)]
        return [
            max(found[column], self._matched(name, plain))
            for name, column in zip(self._settings.order, self._columns, strict=True)
        ]

    def _matched(self, category: str, text: str) -> float:
        patterns = self._settings.patterns.get(category, ())
        return self._settings.pattern_score if any(pattern.search(text) for pattern in patterns) else 0.0

    def _worst_sentence(self, text: str) -> Floats:
        pieces = list(dict.fromkeys(sentences(text)))
        logits = self._table.logits(np.zeros((len(pieces), 0), dtype=np.float32), pieces)
        worst: Floats = 1.0 / (1.0 + np.exp(-logits.max(axis=0)))
        return worst
