"""Hashed n-grams of words and characters: what a sentence encoder blurs (names, numbers, exact words).

Latin words give themselves, their neighbours in pairs and their letters in groups of 3 and 4; Chinese, which has no
spaces, gives characters in groups of 1 to 3. Feature hashing: Weinberger et al., 2009.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

_RUNS = re.compile(r"[a-z0-9à-ÿ']+|[\u3400-\u9fff]+")
_LETTERS = (3, 4)
_CHARACTERS = (1, 2, 3)


def ngram_ids(text: str, size: int) -> Ids:
    """The buckets in [0, size) of the n-grams of `text`, in order, with repeats. Case does not matter."""
    runs = _RUNS.findall(text.lower())
    hashes = [value for run in runs for value in _run_hashes(run)]
    hashes += [zlib.crc32(f"{left} {right}".encode()) for left, right in pairwise(runs)]
    return np.array(hashes, dtype=np.int64) % size


def sum_rows(table: npt.NDArray[np.float32], texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """For each text the rows [size, k] of its n-grams, summed and divided by the root of their number: [n, k]."""
    size = len(table)
    sums = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
    for row, text in enumerate(texts):
        ids = ngram_ids(text, size)
        if len(ids):
            sums[row] = table[ids].sum(axis=0) / np.sqrt(np.float32(len(ids)))
    return sums


@lru_cache(maxsize=1 << 15)
def _run_hashes(run: str) -> tuple[int, ...]:
    return tuple(zlib.crc32(gram.encode()) for gram in _grams(run))


def _grams(run: str) -> Iterator[str]:
    if run[0] >= "\u3400":
        yield from (run[i : i + n] for n in _CHARACTERS for i in range(len(run) - n + 1))
        return
    yield f"={run}"
    padded = f" {run} "
    yield from (padded[i : i + n] for n in _LETTERS for i in range(len(padded) - n + 1))
