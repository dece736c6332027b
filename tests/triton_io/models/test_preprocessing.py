from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_gguf import tiny_metadata
from triton_python_backend_utils import Request, TritonError

from chainserve.engine.word_lists import unpack
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.contract import PREPROCESSING
from chainserve.triton_io.models.preprocessing import PreprocessingModel
from chainserve_build.gguf_tokenizer import save_tokenizer


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PreprocessingModel:
    save_tokenizer(tiny_metadata(), tmp_path)
    monkeypatch.setenv("CHAINSERVE_ENGINE_DIR", str(tmp_path))
    model = PreprocessingModel()
    model.initialize({})
    return model


def texts(*rows: list[str]) -> Any:
    return np.array([[text.encode() for text in row] for row in rows], dtype=np.object_)


def request(*queries: str, **more: Any) -> Request:
    lengths = np.full((len(queries), 1), 16, dtype=np.int32)
    return Request({"QUERY": texts(*([query] for query in queries)), "REQUEST_OUTPUT_LEN": lengths, **more})


def answer(model: PreprocessingModel, asked: Request) -> dict[str, Any]:
    (response,) = model.execute([asked])
    assert not response.has_error(), response.error
    return {tensor.name(): tensor.as_numpy() for tensor in response.output_tensors}


def problem(model: PreprocessingModel, asked: Request) -> TritonError:
    (response,) = model.execute([asked])
    return response.error


def test_every_output_of_the_contract_is_there(model: PreprocessingModel) -> None:
    assert set(answer(model, request("hi"))) == {tensor.name for tensor in PREPROCESSING.outputs}


def test_a_prompt(model: PreprocessingModel) -> None:
    out = answer(model, request("<|im_start|>END"))
    tokenizer: Tokenizer = model._tokenizer
    assert out["INPUT_ID"].tolist() == [tokenizer.encode("<|im_start|>END")]
    assert out["REQUEST_INPUT_LEN"].tolist() == [[2]]
    assert out["REQUEST_OUTPUT_LEN"].tolist() == [[16]]
    assert (out["OUT_END_ID"].tolist(), out["OUT_PAD_ID"].tolist()) == ([[2]], [[2]])
    assert out["INPUT_ID"].dtype == np.int32


def test_without_words_the_lists_are_empty(model: PreprocessingModel) -> None:
    out = answer(model, request("hi"))
    assert out["STOP_WORDS_IDS"].shape == out["BAD_WORDS_IDS"].shape == (1, 2, 0)
    assert out["EMBEDDING_BIAS"].shape == (1, 0)


def test_rows_of_different_length_are_padded(model: PreprocessingModel) -> None:
    out = answer(model, request("a", "abc", PAD_ID=np.array([[0], [0]], dtype=np.int32)))
    assert out["REQUEST_INPUT_LEN"].tolist() == [[1], [3]]
    assert out["INPUT_ID"][0, 1:].tolist() == [0, 0]


def test_words_belong_to_their_row(model: PreprocessingModel) -> None:
    out = answer(model, request("a", "b", STOP_WORDS_DICT=texts(["END", "世"], ["x", ""])))
    tokenizer: Tokenizer = model._tokenizer
    expected = [["END", " END", "世", " 世"], ["x", " x"]]
    for row, words in zip(out["STOP_WORDS_IDS"], expected, strict=True):
        assert unpack("STOP_WORDS_IDS", row) == [tuple(tokenizer.encode(word)) for word in words]


def test_the_end_may_be_given(model: PreprocessingModel) -> None:
    assert answer(model, request("a", END_ID=np.array([[7]], dtype=np.int32)))["OUT_END_ID"].tolist() == [[7]]


def test_bias_falls_on_the_words_tokens(model: PreprocessingModel) -> None:
    bias = np.array([[2.5]], dtype=np.float32)
    out = answer(model, request("a", EMBEDDING_BIAS_WORDS=texts(["END"]), EMBEDDING_BIAS_WEIGHTS=bias))
    (token,) = model._tokenizer.encode("END")
    assert np.flatnonzero(out["EMBEDDING_BIAS"][0]).tolist() == [token]
    assert out["EMBEDDING_BIAS"][0, token] == 2.5


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (request(""), "QUERY"),
        (request("a", EMBEDDING_BIAS_WORDS=texts(["x"])), "EMBEDDING_BIAS_WEIGHTS"),
        (request("a", EMBEDDING_BIAS_WEIGHTS=np.ones((1, 1), dtype=np.float32)), "EMBEDDING_BIAS_WEIGHTS"),
        (request("a", "b", END_ID=np.array([[1]], dtype=np.int32)), "END_ID"),
        (request("a", QUERY=np.array([[b"\xff"]], dtype=np.object_)), "QUERY"),
    ],
)
def test_bad_input_names_its_tensor(model: PreprocessingModel, asked: Request, name: str) -> None:
    error = problem(model, asked)
    assert error.code() == TritonError.INVALID_ARG
    assert error.message().startswith(name)


def test_a_bad_request_leaves_the_others_alone(model: PreprocessingModel) -> None:
    bad, good = model.execute([request(""), request("hi")])
    assert bad.has_error()
    assert not good.has_error()
