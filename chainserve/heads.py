"""Small trained heads over a sentence encoder: dense layers on the vector plus a table of hashed n-grams."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chainserve.errors import InvalidInput, NotFound
from chainserve.ngrams import sum_rows

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Head:
    """One logit a label: `layers` of (weights [in, out], bias [out]) with ReLU between, and `ngrams` [buckets, labels].

    `calibration` holds what turns logits into a confidence; its meaning is its owner's.
    """

    labels: tuple[str, ...]
    layers: tuple[tuple[Floats, Floats], ...]
    ngrams: Floats
    calibration: Floats

    def logits(self, vectors: Floats, texts: Sequence[str]) -> Floats:
        """`vectors` [n, d] are the encoder's for `texts`; answers [n, labels]."""
        return self._dense(vectors) + sum_rows(self.ngrams, texts)

    def _dense(self, vectors: Floats) -> Floats:
        hidden = vectors
        for weights, bias in self.layers[:-1]:
            hidden = np.maximum(hidden @ weights + bias, 0.0)
        weights, bias = self.layers[-1]
        logits: Floats = hidden @ weights + bias
        return logits

    def save(self, path: Path) -> None:
        """One small .npz: layers in 16 bits, n-grams in 8 bits with a scale a label."""
        scale = np.maximum(np.abs(self.ngrams).max(axis=0), 1e-9) / 127.0
        arrays: dict[str, Any] = {
            "labels": np.array(self.labels),
            "calibration": self.calibration.astype(np.float32),
            "ngrams": np.rint(self.ngrams / scale).astype(np.int8),
            "ngrams_scale": scale.astype(np.float32),
        }
        for number, (weights, bias) in enumerate(self.layers):
            arrays |= {f"weights_{number}": weights.astype(np.float16), f"bias_{number}": bias.astype(np.float32)}
        np.savez_compressed(path, **arrays)


def load_head(path: Path, dimension: int) -> Head:
    """Read what `Head.save` wrote.

    Raises:
        NotFound: there is no such file.
        InvalidInput: the head was trained on another encoder: its input is not `dimension` wide.
    """
    if not path.is_file():
        raise NotFound(f"head {path}: no such file")
    with np.load(path, allow_pickle=False) as arrays:
        head = _from_arrays(dict(arrays))
    width = len(head.layers[0][0])
    if width != dimension:
        raise InvalidInput(str(path), f"is made for vectors of {width} numbers, the encoder gives {dimension}")
    return head


def _from_arrays(arrays: dict[str, npt.NDArray[Any]]) -> Head:
    depth = sum(name.startswith("weights_") for name in arrays)
    layers = [(arrays[f"weights_{i}"].astype(np.float32), arrays[f"bias_{i}"]) for i in range(depth)]
    ngrams = arrays["ngrams"].astype(np.float32) * arrays["ngrams_scale"]
    return Head(tuple(arrays["labels"].tolist()), tuple(layers), ngrams, arrays["calibration"])
