from dataclasses import replace
from typing import Any

import pytest

from chainserve.engine.cpu.limits import MAX_GUIDE_BYTES, Limits
from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.errors import InvalidInput
from chainserve.messages import Guide

LIMITS = Limits(vocab_size=100, context_length=32)
GOOD = SequenceRequest((1, 2, 3), Decoding(max_tokens=8, end_ids=(2,)))


def with_decoding(**changes: Any) -> SequenceRequest:
    return replace(GOOD, decoding=replace(GOOD.decoding, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_tokens": 29},
        {"min_tokens": 8, "end_ids": ()},
        {"sampled": True, "top_k": 5, "top_p": 0.5, "temperature": 0.1, "seed": 2**64 - 1},
        {"presence_penalty": -2.0, "frequency_penalty": 2.0, "repetition_penalty": 1.3},
        {"stop_words": ((1, 99),), "bad_words": ("x",)},
        {"guide": Guide("regex", "a+")},
    ],
)
def test_good(changes: dict[str, Any]) -> None:
    LIMITS.check(with_decoding(**changes))


NAN, INF = float("nan"), float("inf")
BAD: list[tuple[str, str, dict[str, Any]]] = [
    ("request_output_len", "at least 1", {"max_tokens": 0}),
    ("request_output_len", "at most 32", {"max_tokens": 30}),
    ("min_tokens", "0 to request_output_len 8", {"min_tokens": 9}),
    ("min_tokens", "0 to request_output_len", {"min_tokens": -1}),
    ("end_id", "below the vocabulary size 100", {"end_ids": (100,)}),
    ("end_id", "at least 0", {"end_ids": (-2,)}),
    ("temperature", "finite", {"temperature": NAN}),
    ("temperature", "finite", {"temperature": INF}),
    ("temperature", "above 0", {"temperature": -0.5}),
    ("runtime_top_p", "at most 1", {"top_p": 1.5}),
    ("runtime_top_p", "above 0", {"top_p": -0.1}),
    ("runtime_top_p", "finite", {"top_p": NAN}),
    ("runtime_top_k", "at least 0", {"top_k": -1}),
    ("repetition_penalty", "above 0", {"repetition_penalty": 0.0}),
    ("presence_penalty", "at most 2", {"presence_penalty": 2.5}),
    ("frequency_penalty", "at least -2", {"frequency_penalty": -2.5}),
    ("stop_words_list", "below the vocabulary size", {"stop_words": ((5, 100),)}),
    ("stop_words_list", "at most 256 words", {"stop_words": ((5,),) * 257}),
    ("bad_words_list", "at most 256 words", {"bad_words": ("a",) * 257}),
    ("bad_words_list", "guided decoding", {"bad_words": ("a",), "guide": Guide("json")}),
    ("end_id", "guided decoding", {"end_ids": (), "guide": Guide("json")}),
    ("guided_decoding_guide", "bytes", {"guide": Guide("regex", "a" * (MAX_GUIDE_BYTES + 1))}),
]


@pytest.mark.parametrize(("field", "problem", "changes"), BAD)
def test_bad_decoding(field: str, problem: str, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        LIMITS.check(with_decoding(**changes))
    assert caught.value.field == field


@pytest.mark.parametrize("ids", [(), (100,), (-1,), (1,) * 25])
def test_bad_prompt(ids: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput):
        LIMITS.check(replace(GOOD, ids=ids))
