from typing import Any

import numpy as np
import pytest
from tiny_gguf import TEMPLATE, tiny_metadata
from triton_python_backend_utils import InferenceResponse, Request, TritonError

from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.models.postprocessing import Detokenizer, PostprocessingModel
from chainserve_build.gguf_tokenizer import generation_config, hf_tokenizer

METADATA = tiny_metadata()
TOKENIZER = Tokenizer(hf_tokenizer(METADATA), generation_config(METADATA), TEMPLATE)


@pytest.fixture
def model() -> PostprocessingModel:
    model = PostprocessingModel()
    model._detokenizer = Detokenizer(TOKENIZER, whole=True)
    return model


def request(rows: list[list[list[int]]], lengths: list[list[int]]) -> Request:
    return Request({"TOKENS_BATCH": np.array(rows, np.int32), "SEQUENCE_LENGTH": np.array(lengths, np.int32)})


def answer(model: PostprocessingModel, asked: Request) -> Any:
    (response,) = model.execute([asked])
    assert not response.has_error(), response.error
    return response.output_tensors[0].as_numpy()


def ids(text: str) -> list[int]:
    return TOKENIZER.encode(text)


def test_text_keeps_its_leading_space(model: PostprocessingModel) -> None:
    assert answer(model, request([[ids(" END")]], [[1]])).tolist() == [[b" END"]]


def test_padding_and_special_tokens_give_nothing(model: PostprocessingModel) -> None:
    tokens = [*ids("世"), 2, -1, -1]
    assert answer(model, request([[tokens]], [[len(tokens)]])).tolist() == [["世".encode()]]


def test_only_the_length_counts(model: PostprocessingModel) -> None:
    assert answer(model, request([[ids("abc")]], [[2]])).tolist() == [[b"ab"]]


def test_nothing_is_an_empty_text(model: PostprocessingModel) -> None:
    empty = Request({"TOKENS_BATCH": np.empty((1, 1, 0), np.int32), "SEQUENCE_LENGTH": np.zeros((1, 1), np.int32)})
    assert answer(model, empty).tolist() == [[b""]]


def test_rows_and_beams_keep_their_place(model: PostprocessingModel) -> None:
    rows = [[ids("a"), ids("b")], [ids("c"), ids("d")]]
    assert answer(model, request(rows, [[1, 1], [1, 1]])).tolist() == [[b"a", b"b"], [b"c", b"d"]]


def test_answers_come_in_the_order_of_the_requests(model: PostprocessingModel) -> None:
    responses: list[InferenceResponse] = model.execute([request([[ids(letter)]], [[1]]) for letter in "abc"])
    assert [response.output_tensors[0].as_numpy()[0, 0] for response in responses] == [b"a", b"b", b"c"]


def test_a_character_that_the_limit_cut() -> None:
    cut = ids("a世")[:-1]
    assert Detokenizer(TOKENIZER, whole=True).text(cut) == "a"
    assert Detokenizer(TOKENIZER, whole=False).text(cut) == "a\ufffd"


@pytest.mark.parametrize(
    ("rows", "lengths", "name"),
    [
        ([[[1]]], [[1, 1]], "SEQUENCE_LENGTH"),
        ([[[1]]], [[-1]], "SEQUENCE_LENGTH"),
        ([[[10**6]]], [[1]], "token id"),
    ],
)
def test_bad_input_is_named(
    model: PostprocessingModel, rows: list[list[list[int]]], lengths: list[list[int]], name: str
) -> None:
    (response,) = model.execute([request(rows, lengths)])
    assert response.error is not None
    assert response.error.code() == TritonError.INVALID_ARG
    assert response.error.message().startswith(name)
