"""Train the moderation heads: our seeds, public harmful requests, offensive comments, and ordinary questions."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from chainserve.guards.language import language_of
from chainserve.guards.normalise import normalise
from chainserve.guards.segments import sentences
from chainserve.heads import Floats, Head
from chainserve_build.train.embedding import EmbeddingCache
from chainserve_build.train.examples import (
    CATEGORIES,
    Example,
    actions,
    clean_queries,
    cold,
    davidson,
    intent_seeds,
    seeds,
)
from chainserve_build.train.network import Network, Recipe
from chainserve_build.train.wheels import Wheels

REQUESTS = ("advbench", "harmbench", "do-not-answer", "s-labs")
# How often an example is also learnt in the middle of other talk: a window of a long text rarely holds harm alone.
_SHARES = {"seeds": 1.0, "requests": 0.25, "rest": 0.03}
_FILLER_CHARS = 80


def fit(examples: Sequence[Example], cache: EmbeddingCache, recipe: Recipe) -> Head:
    texts = [example.text for example in examples]
    network = Network(512, len(CATEGORIES), recipe)
    network.fit(cache.encode(texts), texts, targets(examples), weights(examples))
    return network.head(CATEGORIES)


def fit_table(examples: Sequence[Example], recipe: Recipe) -> Head:
    """The n-grams alone: a network that sees one constant zero instead of a vector."""
    texts = [example.text for example in examples]
    network = Network(1, len(CATEGORIES), recipe)
    network.fit(np.zeros((len(texts), 1), dtype=np.float32), texts, targets(examples), weights(examples))
    head = network.head(CATEGORIES)
    bias = head.logits(np.zeros((1, 1), dtype=np.float32), [""])[0]
    return replace(head, layers=((np.zeros((0, len(CATEGORIES)), dtype=np.float32), bias),))


def training_examples(data: Path, wheels: Wheels) -> Iterator[Example]:
    """Everything that is learnt from; nothing that `moderation_metrics` measures on."""
    examples = [
        *cold(data / "cold_train.csv", "cold"),
        *davidson(data / "davidson.csv"),
        *clean_queries(data, ("train", "oos_train"), "bank_train.csv"),
        *wheels.examples(),
        *seeds(weight=6.0),
        *intent_seeds(),
        *actions(),
    ]
    plain = [replace(example, text=normalise(example.text)) for example in examples]
    yield from plain
    yield from amid_other_talk(plain)
    yield from (part for example in plain if example.source == "reviews" for part in _sentence_by_sentence(example))


def _sentence_by_sentence(example: Example) -> Iterator[Example]:
    """The guard judges sentences alone too, and harmless ones of an angry text must be known as such."""
    return (replace(example, text=sentence, weight=example.weight / 2) for sentence in sentences(example.text))


def amid_other_talk(examples: Sequence[Example], seed: int = 0) -> Iterator[Example]:
    """Some of the examples with ordinary sentences of their language before, after, or around them."""
    draw = random.Random(seed)
    fillers = {"en": _texts(examples, "clinc", "banking77"), "zh": _texts(examples, "reviews", "seeds-zh")}
    for example in examples:
        if draw.random() < _share(example):
            language = language_of(example.text)
            before, after = (draw.choice(fillers[language])[:_FILLER_CHARS] for _ in range(2))
            text = _surround(example.text, before, after, "。" if language == "zh" else ". ", draw.random())
            yield replace(example, text=text, weight=example.weight / 2)


def targets(examples: Sequence[Example]) -> Floats:
    """Shape [n, categories]."""
    return np.array([[name in example.positive for name in CATEGORIES] for example in examples], dtype=np.float32)


def weights(examples: Sequence[Example]) -> Floats:
    """Shape [n, categories]; 0 where a category is unknown."""
    rows = [[0.0 if name in example.unknown else example.weight for name in CATEGORIES] for example in examples]
    return np.array(rows, dtype=np.float32)


def _texts(examples: Sequence[Example], *sources: str) -> list[str]:
    return [example.text for example in examples if example.source in sources and not example.positive]


def _share(example: Example) -> float:
    if not example.positive:
        return _SHARES["rest"]
    if example.source.startswith("seeds"):
        return _SHARES["seeds"]
    return _SHARES["requests"] if example.source in REQUESTS else _SHARES["rest"]


def _surround(text: str, before: str, after: str, stop: str, where: float) -> str:
    if where < 0.45:  # noqa: PLR2004 shares of the three places
        return f"{before}{stop}{text}"
    return f"{text}{stop}{after}" if where < 0.7 else f"{before}{stop}{text}{stop}{after}"  # noqa: PLR2004
