"""Logistic regression on a sentence vector beside hashed n-grams: one sparse design matrix, scikit-learn's solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from chainserve.encoder import Vectors
from chainserve.heads import Head
from chainserve_build.train.network import ngram_matrix


@dataclass(frozen=True)
class Features:
    """The vector counts `vector_scale` times, an n-gram row of length 1 or more `ngram_scale` times."""

    buckets: int
    vector_scale: float
    ngram_scale: float

    def matrix(self, vectors: Vectors, texts: Sequence[str]) -> Any:
        """Sparse [n, d + buckets]."""
        dense = sparse.csr_matrix(vectors * self.vector_scale)
        return sparse.hstack([dense, ngram_matrix(texts, self.buckets) * self.ngram_scale]).tocsr()

    def head(self, model: Any, labels: tuple[str, ...], dimension: int) -> Head:
        """The fitted model (one or several binary ones stacked) as a head that takes plain vectors and texts."""
        weights = np.asarray(model.coef_, dtype=np.float32).T
        dense = weights[:dimension] * np.float32(self.vector_scale)
        ngrams = weights[dimension:] * np.float32(self.ngram_scale)
        bias = np.asarray(model.intercept_, dtype=np.float32)
        return Head(labels, ((dense, bias),), ngrams, np.zeros(3, dtype=np.float32))


def fit(matrix: Any, labels: npt.NDArray[np.int64], weights: npt.NDArray[np.float32], c: float, steps: int) -> Any:
    """Fit with lbfgs, stopped after `steps`: early stopping is part of the regularisation."""
    return LogisticRegression(C=c, max_iter=steps).fit(matrix, labels, sample_weight=weights)
