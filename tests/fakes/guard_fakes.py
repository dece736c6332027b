"""A head that knows a few characters, and settings of seven categories."""

import numpy as np

from chainserve.encoder import FakeEncoder
from chainserve.guards.moderator import Moderator
from chainserve.guards.settings import CategoryPolicy, ModerationSettings, Policy, RulesSettings
from chainserve.heads import Head
from chainserve.ngrams import ngram_ids

ORDER = ("hate", "violence", "self_harm", "sexual", "illicit", "injection", "pii")
BUCKETS = 4096


def categories() -> dict[str, CategoryPolicy]:
    flag, score = Policy(threshold=0.5), Policy(threshold=0.5, action="score")
    plain = {name: CategoryPolicy(user=flag, assistant=flag) for name in ORDER}
    return plain | {
        "injection": CategoryPolicy(user=flag, assistant=score),
        "pii": CategoryPolicy(user=score, assistant=flag),
    }


def settings(**changes: object) -> ModerationSettings:
    base = {"max_chars": 1000, "window_tokens": 16, "overlap_tokens": 4, "order": ORDER, "categories": categories()}
    return ModerationSettings.model_validate(base | changes)


def rules_settings(**changes: object) -> RulesSettings:
    base = {"max_chars": 1000, "order": ORDER, "categories": categories(), "pattern_score": 0.9, "patterns": {}}
    return RulesSettings.model_validate(base | changes)


def head(width: int = 16) -> Head:
    """A text with the word "bomb" is illicit, one with "ignore" is an injection, and nothing else is anything."""
    table = np.zeros((BUCKETS, 6), dtype=np.float32)
    for word, column in (("bomb", 4), ("ignore", 5)):
        table[ngram_ids(word, BUCKETS), column] = 12.0
    layer = (np.zeros((width, 6), np.float32), np.full(6, -9.0, np.float32))
    return Head(ORDER[:6], (layer,), table, np.zeros(2, np.float32))


def moderator() -> Moderator:
    return Moderator(FakeEncoder(), head(), settings())
