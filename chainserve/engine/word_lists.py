"""Stop and bad words as TensorRT-LLM takes them: int32 [2, n], row 0 all ids one after another, row 1 where each word
ends, filled up with -1. Source: the contract of `stop_words_list` in TensorRT-LLM's inflight_batcher_llm.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chainserve.errors import InvalidInput
from chainserve.tokenizer import Tokenizer

ROWS = 2

IntArray = npt.NDArray[np.int32]
WordIds = tuple[int, ...]


def word_lists(tokenizer: Tokenizer, words: Iterable[str]) -> IntArray:
    """int32 [2, n]: every spelling of every word, packed."""
    return pack(word_ids(tokenizer, words))


def word_ids(tokenizer: Tokenizer, words: Iterable[str]) -> list[WordIds]:
    """Ids of every spelling of every word, in order, each once. Empty words are left out; commas split nothing.

    Inside a text a word mostly follows a space, and `END` and ` END` are different tokens: both count.
    """
    spellings = [spelling for word in words if word for spelling in _spellings(word)]
    return list(dict.fromkeys(tuple(tokenizer.encode(spelling)) for spelling in spellings))


def _spellings(word: str) -> tuple[str, ...]:
    return (word,) if word[0].isspace() else (word, f" {word}")


def pack(words: Sequence[WordIds], width: int | None = None) -> IntArray:
    """int32 [2, width]; by default just wide enough, [2, 0] without words."""
    flat = [number for word in words for number in word]
    packed = np.full((ROWS, len(flat) if width is None else width), -1, dtype=np.int32)
    packed[0, : len(flat)] = flat
    packed[1, : len(words)] = np.cumsum([len(word) for word in words], dtype=np.int32)
    return packed


def unpack(field: str, packed: npt.NDArray[Any]) -> list[WordIds]:
    """The words of one request; `packed` is [2, n] or [1, 2, n].

    Raises:
        InvalidInput: another shape, or ends that do not rise or lie outside; names `field`.
    """
    if packed.size == 0:
        return []
    if packed.shape[-2:-1] != (ROWS,) or packed.size != packed.shape[-1] * ROWS:
        raise InvalidInput(field, f"must have shape [2, n], got {list(packed.shape)}")
    ids, ends = packed.reshape(ROWS, -1).tolist()
    return _cut(field, ids, [end for end in ends if end >= 0])


def _cut(field: str, ids: list[int], ends: list[int]) -> list[WordIds]:
    starts = [0, *ends[:-1]]
    if any(start >= end for start, end in zip(starts, ends, strict=False)) or (ends and ends[-1] > len(ids)):
        raise InvalidInput(field, f"the ends in row 1 must rise, from 1 to at most {len(ids)}")
    return [tuple(ids[start:end]) for start, end in zip(starts, ends, strict=False)]
