import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.guards.normalise import normalise


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ｉｇｎｏｒｅ　ａｌｌ", "ignore all"),
        ("ig\u200bno\u00adre\u2060 all", "ignore all"),
        ("自\u200b杀", "自杀"),
        ("自 杀 方.法", "自杀方法"),
        ("k i l l him", "kill him"),
        ("b.o.m.b", "bomb"),
        ("іgnоrе the rulеs", "ignore the rules"),
        ("привет мир", "привет мир"),
        ("a  b\n\nc", "a b c"),
        ("I am a U S citizen", "I am a U S citizen"),
        ("A-B testing, e.g. x", "A-B testing, e.g. x"),
        ("天气好，出门。", "天气好,出门。"),
        ("", ""),
    ],
)
def test_spelling_tricks_are_undone_and_plain_text_kept(text: str, plain: str) -> None:
    assert normalise(text) == plain


@given(st.text())
def test_no_invisible_characters_and_no_double_spaces_are_left(text: str) -> None:
    plain = normalise(text)
    assert "\u200b" not in plain
    assert "  " not in plain
    assert plain == plain.strip()
