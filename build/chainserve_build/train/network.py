"""A small network trained in numpy: one hidden layer on the sentence vector beside a linear table of n-grams.

Both are trained together by Adam on binary cross-entropies, one a label, so the table learns what the vector misses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from chainserve.encoder import Vectors
from chainserve.heads import Head
from chainserve.ngrams import ngram_ids

Floats = npt.NDArray[np.float32]
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Recipe:
    hidden: int = 128
    buckets: int = 1 << 15
    epochs: int = 8
    batch: int = 256
    rate: float = 1e-3
    ngram_rate: float = 3e-3
    dropout: float = 0.3
    decay: float = 1e-4
    ngram_decay: float = 2e-3
    vector_scale: float = 16.0
    seed: int = 0


def ngram_matrix(texts: Sequence[str], buckets: int) -> Any:
    """Sparse [n, buckets], rows of n-gram counts over the root of their number, as `sum_rows` weighs them."""
    rows = [ngram_ids(text, buckets) for text in texts]
    values = np.concatenate([np.full(len(ids), 1 / np.sqrt(max(1, len(ids))), dtype=np.float32) for ids in rows])
    starts = np.cumsum([0, *map(len, rows)])
    return sparse.csr_matrix((values, np.concatenate(rows), starts), shape=(len(rows), buckets))


class Network:
    def __init__(self, inputs: int, labels: int, recipe: Recipe) -> None:
        self._recipe = recipe
        self._rng = np.random.default_rng(recipe.seed)
        self._w1 = self._draw(inputs, recipe.hidden)
        self._b1 = np.zeros(recipe.hidden, np.float32)
        self._w2 = self._draw(recipe.hidden, labels)
        self._b2 = np.full(labels, -3.0, np.float32)
        self._table = np.zeros((recipe.buckets, labels), np.float32)
        self._moments: dict[str, tuple[Floats, Floats]] = {}
        self._step = 0

    def fit(self, vectors: Vectors, texts: Sequence[str], targets: Floats, weights: Floats) -> None:
        """`targets` and `weights` [n, labels]; a weight of 0 leaves a label of a text out."""
        grams = ngram_matrix(texts, self._recipe.buckets)
        scaled = vectors * np.float32(self._recipe.vector_scale)
        for epoch in range(self._recipe.epochs):
            rate = 1.0 - epoch / self._recipe.epochs
            order = self._rng.permutation(len(texts))
            for start in range(0, len(order), self._recipe.batch):
                rows = order[start : start + self._recipe.batch]
                self._learn(scaled[rows], grams[rows], targets[rows], weights[rows], rate)

    def head(self, labels: tuple[str, ...]) -> Head:
        first = self._w1 * np.float32(self._recipe.vector_scale)
        return Head(labels, ((first, self._b1), (self._w2, self._b2)), self._table, np.zeros(2, np.float32))

    def _learn(self, vectors: Floats, grams: Any, targets: Floats, weights: Floats, rate: float) -> None:
        self._step += 1
        kept = (self._rng.random((len(vectors), self._recipe.hidden)) > self._recipe.dropout).astype(np.float32)
        kept /= np.float32(1.0 - self._recipe.dropout)
        hidden = np.maximum(vectors @ self._w1 + self._b1, 0.0) * kept
        logits = hidden @ self._w2 + self._b2 + grams @ self._table
        error = (1.0 / (1.0 + np.exp(-logits)) - targets) * weights / np.float32(len(vectors))
        back = (error @ self._w2.T) * kept * (hidden > 0)
        recipe = self._recipe
        self._descend("_w1", vectors.T @ back, recipe.rate * rate, recipe.decay)
        self._descend("_b1", back.sum(axis=0), recipe.rate * rate, 0.0)
        self._descend("_w2", hidden.T @ error, recipe.rate * rate, recipe.decay)
        self._descend("_b2", error.sum(axis=0), recipe.rate * rate, 0.0)
        self._descend("_table", np.asarray(grams.T @ error), recipe.ngram_rate * rate, recipe.ngram_decay)

    def _descend(self, name: str, gradient: Floats, rate: float, decay: float) -> None:
        """One step of Adam with decoupled weight decay (AdamW: Loshchilov and Hutter, 2019)."""
        values: Floats = getattr(self, name)
        mean, square = self._moments.setdefault(name, (np.zeros_like(values), np.zeros_like(values)))
        mean += (1 - _BETA1) * (gradient - mean)
        square += (1 - _BETA2) * (gradient * gradient - square)
        size = np.sqrt(square / (1 - _BETA2**self._step)) + _EPSILON
        values -= np.float32(rate) * (mean / (1 - _BETA1**self._step) / size + np.float32(decay) * values)

    def _draw(self, inputs: int, outputs: int) -> Floats:
        drawn: Floats = self._rng.normal(0.0, np.sqrt(2.0 / inputs), (inputs, outputs)).astype(np.float32)
        return drawn
