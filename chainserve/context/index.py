"""Search over the passages of a document folder: exact, by cosine, with faiss."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np

from chainserve.context import index_files
from chainserve.encoder import SentenceEncoder, Vectors
from chainserve.errors import InvalidInput
from chainserve.messages import Passage

# A vector that is encoded again comes out the same but for rounding, which differs between machines.
_SAME = 0.999


class DocumentIndex:
    """A PassageIndex. Flat: 17 ms for 100 000 vectors on one core; a graph index would only pay above that."""

    def __init__(self, passages: Sequence[Passage], vectors: Vectors, threads: int = 1) -> None:
        """`vectors` [n, dimension], rows of length 1, in the order of `passages`."""
        faiss.omp_set_num_threads(threads)
        self._passages = list(passages)
        self._flat = faiss.IndexFlatIP(vectors.shape[1])
        self._flat.add(np.ascontiguousarray(vectors, dtype=np.float32))

    @classmethod
    def load(cls, folder: Path, encoder: SentenceEncoder, name: str, threads: int = 1) -> "DocumentIndex":
        """The index in `folder`, to be asked with vectors of `encoder`, called `name`.

        Raises:
            NotFound: there is none.
            InvalidInput: it is damaged, or was made with another encoder.
        """
        manifest = index_files.IndexManifest.load(folder)
        if (manifest.recipe.encoder, manifest.dimension) != (name, encoder.dimension):
            made = f"{manifest.recipe.encoder!r} ({manifest.dimension} numbers)"
            raise _mismatch(folder, f"was made with encoder {made}, not {name!r} ({encoder.dimension})")
        passages, vectors = index_files.read(folder, manifest)
        if float(encoder.encode([passages[0].text])[0] @ vectors[0]) < _SAME:
            raise _mismatch(folder, f"was made with another encoder that is also called {name!r}")
        return cls(passages, vectors, threads)

    def search(self, queries: Vectors, top_k: int) -> list[list[Passage]]:
        count = min(top_k, len(self._passages))
        scores, places = self._flat.search(np.ascontiguousarray(queries, dtype=np.float32), count)
        return [
            [replace(self._passages[place], score=round(float(score), 4)) for score, place in zip(*row, strict=True)]
            for row in zip(scores, places, strict=True)
        ]


def _mismatch(folder: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"index {folder}", f"{reason}; run `chainserve-build index` with the encoder of context.toml")
