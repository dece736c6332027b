import json
import math
from typing import Any

import pytest

from chainserve.admission.policy import AdmissionPolicy
from chainserve.admission.request import Admission
from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage, Guide

POLICY = AdmissionPolicy(
    interactive=1, batch=1, max_input_chars=20, max_tokens=100, default_max_tokens=50, max_words=2, max_word_chars=5
)
ADMISSION = Admission(POLICY)


def admit(**fields: Any) -> Any:
    return ADMISSION.admit("id", {"text_input": "hello", **fields})


def test_defaults() -> None:
    request = admit()
    assert request.messages == (ChatMessage("user", "hello"),)
    assert request.sampling.max_tokens == POLICY.default_max_tokens
    assert request.timeout_ms == POLICY.default_timeout_ms
    assert (request.stream, request.priority) == (False, "interactive")


def test_messages_instead_of_text() -> None:
    messages = json.dumps([{"role": "system", "content": "short"}, {"role": "user", "content": "你好"}])
    request = ADMISSION.admit("id", {"messages": messages})
    assert request.question == "你好"


def test_empty_words_are_no_words() -> None:
    assert admit(stop_words=["", "a"]).sampling.stop_words == ("a",)


def test_a_guide() -> None:
    sampling = admit(guided_decoding_guide_type="regex", guided_decoding_guide="[0-9]+").sampling
    assert sampling.guide == Guide("regex", "[0-9]+")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"text_input": None}, "text_input: send exactly one"),
        ({"messages": "[]"}, "text_input: send exactly one"),
        ({"text_input": " \n"}, "text_input: holds no text"),
        ({"text_input": "x" * 21}, "text_input: 21 characters, the limit is 20"),
        ({"max_tokens": 0}, "max_tokens: .*greater than or equal to 1, got a value of kind int"),
        ({"max_tokens": 101}, "max_tokens: 101 tokens, the limit is 100"),
        ({"min_tokens": 60}, "min_tokens: 60 tokens .max_tokens., the limit is 50"),
        ({"temperature": -0.1}, "temperature: .*greater than or equal to 0"),
        ({"temperature": math.nan}, "temperature: .*finite"),
        ({"top_p": 0.0}, "top_p: .*greater than 0"),
        ({"top_k": -1}, "top_k: .*greater than or equal to 0"),
        ({"beam_width": 4}, "beam_width: "),
        ({"length_penalty": 2.0}, "length_penalty: .*no beam search"),
        ({"return_log_probs": True}, "return_log_probs: "),
        ({"stop_words": ["a", "b", "c"]}, "stop_words: 3 entries, the limit is 2"),
        ({"bad_words": ["abcdef"]}, "bad_words: 6 characters in an entry, the limit is 5"),
        ({"priority": "vip"}, "priority: .*'interactive' or 'batch'"),
        ({"timeout_ms": 0}, "timeout_ms: .*greater than or equal to 1"),
        ({"timeout_ms": 10**7}, "timeout_ms: 10000000 milliseconds, the limit is 600000"),
        ({"user_id": "u" * 257}, "user_id: .*at most 256"),
        ({"guided_decoding_guide": "x"}, "guided_decoding_guide_type: is needed"),
        ({"guided_decoding_guide_type": "regex"}, "guided_decoding_guide: is needed"),
        ({"guided_decoding_guide_type": "xml"}, "guided_decoding_guide_type: "),
    ],
)
def test_what_cannot_be_served_is_named(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        admit(**fields)
