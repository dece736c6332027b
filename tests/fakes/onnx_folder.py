"""A tiny ONNX encoder written by hand (the format is protobuf): it looks each token up in a table of vectors."""

import json
from pathlib import Path

import numpy as np

WORDS = ["[UNK]", "[CLS]", "red", "blue", "green", "fast", "slow"]
LIMIT = 8


def write_onnx_folder(folder: Path, width: int = 4) -> None:
    """`[CLS]` is added to every text; the tokenizer's truncation says at most `LIMIT` tokens."""
    table = np.random.default_rng(0).normal(size=(len(WORDS), width)).astype(np.float32)
    (folder / "model.onnx").write_bytes(_model(table))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))


def _tokenizer() -> dict[str, object]:
    cls = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": LIMIT, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [cls, text],
            "pair": [cls, text, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}},
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }


def _model(table: np.ndarray) -> bytes:
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, "vectors") + _text(4, "Gather")
    weights = b"".join(_number(1, size) for size in table.shape) + _number(2, 1) + _text(8, "table")
    ids = _value("input_ids", 7, [_text(2, "n"), _text(2, "t")])
    vectors = _value("vectors", 1, [_text(2, "n"), _text(2, "t"), _number(1, table.shape[1])])
    graph = _field(1, node) + _text(2, "g") + _field(5, weights + _field(9, table.tobytes()))
    return _number(1, 8) + _field(7, graph + _field(11, ids) + _field(12, vectors)) + _field(8, _number(2, 13))


def _value(name: str, kind: int, dims: list[bytes]) -> bytes:
    shape = b"".join(_field(1, dim) for dim in dims)
    return _text(1, name) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + _varint(value // 128)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, payload: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(payload)) + payload


def _text(field: int, value: str) -> bytes:
    return _field(field, value.encode())
