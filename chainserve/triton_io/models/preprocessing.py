"""`preprocessing`: prompt text to the engine's token ids, words to id lists. NVIDIA's names and contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chainserve.engine.word_lists import IntArray, WordIds, pack, word_ids
from chainserve.errors import InvalidInput
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.contract import FP32, INT32
from chainserve.triton_io.environment import engine_dir
from chainserve.triton_io.tensors import RequestTensors, output, required


@dataclass(frozen=True)
class Query:
    """One row of a request. `bias` pairs a word with what is added to its tokens' logits."""

    text: str
    output_len: int
    bad_words: tuple[str, ...] = ()
    stop_words: tuple[str, ...] = ()
    bias: tuple[tuple[str, float], ...] = ()
    end_id: int | None = None
    pad_id: int | None = None


@dataclass(frozen=True)
class Encoded:
    """One row of the answer. `bias` is [vocab_size], or [0] when none was asked for."""

    ids: list[int]
    output_len: int
    bad_words: list[WordIds]
    stop_words: list[WordIds]
    bias: npt.NDArray[np.float32]
    end_id: int
    pad_id: int


class PreprocessingModel:
    def initialize(self, args: dict[str, Any]) -> None:
        self._tokenizer = Tokenizer.load(engine_dir(args))

    def execute(self, requests: list[Any]) -> list[Any]:
        return run_batch(requests, self._decode, list, encode_rows)

    def _decode(self, tensors: RequestTensors) -> list[Encoded]:
        # Here, so that a row that cannot be encoded fails its own request alone.
        return [encode_query(self._tokenizer, query) for query in read_queries(tensors)]


def read_queries(tensors: RequestTensors) -> list[Query]:
    """Raises: InvalidInput, naming the tensor."""
    texts = required(tensors.texts("QUERY"))
    rows = len(texts)
    lengths = _numbers(tensors, "REQUEST_OUTPUT_LEN", rows)
    bad, stop = _words(tensors, "BAD_WORDS_DICT", rows), _words(tensors, "STOP_WORDS_DICT", rows)
    bias = _bias(tensors, rows)
    ends, pads = _numbers(tensors, "END_ID", rows), _numbers(tensors, "PAD_ID", rows)
    return [
        Query(texts[row], required(lengths[row]), bad[row], stop[row], bias[row], ends[row], pads[row])
        for row in range(rows)
    ]


def encode_query(tokenizer: Tokenizer, query: Query) -> Encoded:
    """Raises: InvalidInput when the text has no token."""
    ids = tokenizer.encode(query.text)
    if not ids:
        raise InvalidInput("QUERY", "must not be empty")
    return Encoded(
        ids=ids,
        output_len=query.output_len,
        bad_words=word_ids(tokenizer, query.bad_words),
        stop_words=word_ids(tokenizer, query.stop_words),
        bias=embedding_bias(tokenizer, query.bias),
        end_id=tokenizer.eos_ids[0] if query.end_id is None else query.end_id,
        pad_id=tokenizer.pad_id if query.pad_id is None else query.pad_id,
    )


def embedding_bias(tokenizer: Tokenizer, bias: Sequence[tuple[str, float]]) -> npt.NDArray[np.float32]:
    """float32 [vocab_size]: each token of a word gets the word's weight; [0] without words."""
    if not bias:
        return np.empty(0, dtype=np.float32)
    weights = np.zeros(tokenizer.vocab_size, dtype=np.float32)
    for word, weight in bias:
        np.add.at(weights, tokenizer.encode(word), weight)
    return weights


def encode_rows(rows: Sequence[Encoded]) -> list[Any]:
    """The response's tensors; ids of shorter rows are filled up with the row's pad id."""
    width = max(len(row.ids) for row in rows)
    ids = [row.ids + [row.pad_id] * (width - len(row.ids)) for row in rows]
    column = (len(rows), 1)
    return [
        output("INPUT_ID", INT32, ids),
        output("REQUEST_INPUT_LEN", INT32, [len(row.ids) for row in rows], column),
        output("BAD_WORDS_IDS", INT32, _stack([row.bad_words for row in rows])),
        output("STOP_WORDS_IDS", INT32, _stack([row.stop_words for row in rows])),
        output("EMBEDDING_BIAS", FP32, np.stack([row.bias for row in rows])),
        output("REQUEST_OUTPUT_LEN", INT32, [row.output_len for row in rows], column),
        output("OUT_END_ID", INT32, [row.end_id for row in rows], column),
        output("OUT_PAD_ID", INT32, [row.pad_id for row in rows], column),
    ]


def _stack(rows: Sequence[list[WordIds]]) -> IntArray:
    """int32 [rows, 2, widest]."""
    width = max(sum(map(len, words)) for words in rows)
    return np.stack([pack(words, width) for words in rows])


def _numbers(tensors: RequestTensors, name: str, rows: int) -> list[int | None]:
    array = tensors.array(name)
    if array is None:
        return [None] * rows
    if array.size != rows:
        raise InvalidInput(name, f"takes one value a row, got {array.size} for {rows}")
    return [int(value) for value in array.reshape(-1)]


def _words(tensors: RequestTensors, name: str, rows: int) -> list[tuple[str, ...]]:
    texts = tensors.texts(name) or []
    if len(texts) % rows:
        raise InvalidInput(name, f"takes as many words for each of {rows} rows, got {len(texts)} in all")
    each = len(texts) // rows
    return [tuple(texts[row * each : (row + 1) * each]) for row in range(rows)]


def _bias(tensors: RequestTensors, rows: int) -> list[tuple[tuple[str, float], ...]]:
    words = _words(tensors, "EMBEDDING_BIAS_WORDS", rows)
    array = tensors.array("EMBEDDING_BIAS_WEIGHTS")
    weights = np.empty((rows, 0)) if array is None else array.reshape(rows, -1)
    if weights.shape[1] != len(words[0]):
        raise InvalidInput("EMBEDDING_BIAS_WEIGHTS", f"takes a weight for each of {len(words[0])} words")
    return [tuple(zip(words[row], weights[row].tolist(), strict=True)) for row in range(rows)]
