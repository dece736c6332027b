"""Embeddings of training texts, kept on disk: the encoder is most of a training run."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chainserve.encoder import SentenceEncoder, Vectors

_CHUNK = 2048


class EmbeddingCache:
    """`folder` keeps one file for each chunk of texts, named after them and the encoder."""

    def __init__(self, encoder: SentenceEncoder, name: str, folder: Path) -> None:
        self._encoder, self._name, self._folder = encoder, name, folder
        folder.mkdir(parents=True, exist_ok=True)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape [n, dimension]."""
        chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
        empty = np.zeros((0, self._encoder.dimension), dtype=np.float32)
        return np.concatenate([empty, *(self._chunk(chunk) for chunk in chunks)])

    def _chunk(self, texts: Sequence[str]) -> Vectors:
        path = self._folder / f"{_digest(self._name, texts)}.npy"
        if path.exists():
            kept: Vectors = np.load(path).astype(np.float32)
            return kept
        vectors = self._encoder.encode(texts)
        half = path.with_suffix(".half.npy")
        np.save(half, vectors.astype(np.float16))
        half.rename(path)
        return vectors.astype(np.float16).astype(np.float32)


def _digest(name: str, texts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([name, *texts]).encode()).hexdigest()[:24]
