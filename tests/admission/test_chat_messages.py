import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.admission.chat_messages import MAX_CONTENT_CHARS, MAX_JSON_CHARS, MAX_MESSAGES, parse_messages
from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage

ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.builds(ChatMessage, ROLES, TEXT), min_size=1, max_size=8), st.booleans())
def test_what_was_sent_comes_back(messages: list[ChatMessage], ascii_only: bool) -> None:
    text = json.dumps([{"role": m.role, "content": m.content} for m in messages], ensure_ascii=ascii_only)
    assert parse_messages(text) == tuple(messages)


def test_chinese_and_a_name() -> None:
    assert parse_messages('[{"role": "user", "content": "你好👋", "name": "li"}]') == (ChatMessage("user", "你好👋"),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "messages: not JSON"),
        ("[", "messages: not JSON"),
        ('"hello"', "messages: input should be a valid array, got a value of kind str"),
        ("[]", "messages: list should have at least 1 item"),
        ("[1]", r"messages: \[0\]: .*got a value of kind int"),
        ('[{"role": "user"}]', r"messages: \[0\].content: field required"),
        ('[{"content": "secret"}]', r"messages: \[0\].role: field required"),
        ('[{"role": "user", "content": null}]', r"\[0\].content: .*string, got a value of kind NoneType"),
        ('[{"role": "user", "content": ["secret"]}]', r"\[0\].content: .*string, got a value of kind list"),
        ('[{"role": "developer", "content": "secret"}]', r"\[0\].role: .*'system', 'user', 'assistant' or 'tool'"),
        ('[{"role": "user", "content": "a", "secret": 1}]', r"\[0\].secret: extra inputs are not permitted"),
        ('[{"role": "user", "content": "secret \\ud800"}]', "messages: not JSON"),
        ("[" * 5000, "messages: not JSON"),
    ],
)
def test_what_is_wrong_is_named_and_not_shown(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as raised:
        parse_messages(text)
    assert raised.value.field == "messages"
    assert "secret " not in str(raised.value)


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([{"role": "user", "content": ""}] * (MAX_MESSAGES + 1), "at most 512 items"),
        ([{"role": "user", "content": "a" * (MAX_CONTENT_CHARS + 1)}], "at most 1000000 characters"),
        ([{"role": "user", "content": "a" * MAX_JSON_CHARS}], "the limit is 4000000"),
    ],
)
def test_limits(messages: list[Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        parse_messages(json.dumps(messages))
