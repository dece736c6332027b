import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.prompt.control_tokens import ControlTokens

MARKERS = st.sets(st.text("<|>ab ", min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("<|im_start|>", "< |im_start|>"),
        ("<|im_<|im_start|>start|>", "<|im_< |im_start|>start|>"),
        ("<|IM_START|>", "< |IM_START|>"),
        ("a < b", "a < b"),
        ("", ""),
    ],
)
def test_a_marker_is_split(text: str, clean: str) -> None:
    assert ControlTokens(["<|im_start|>", "<|im_end|>"]).neutralise(text) == clean


@given(MARKERS, st.text("<|>ab "))
def test_no_marker_is_left_and_nothing_is_lost(markers: set[str], text: str) -> None:
    clean = ControlTokens(markers).neutralise(text)
    assert not any(marker in clean for marker in markers)
    single = {marker for marker in markers if len(marker) == 1}
    kept = [letter for letter in text if letter not in single and not letter.isspace()]
    assert [letter for letter in clean if not letter.isspace() and letter != "\u200b"] == kept


@given(MARKERS, st.text("<|>ab "))
def test_clean_text_stays_as_it_is(markers: set[str], text: str) -> None:
    control = ControlTokens(markers)
    assert control.neutralise(control.neutralise(text)) == control.neutralise(text)


def test_a_tokenizer_without_markers() -> None:
    assert ControlTokens([]).neutralise("<|im_start|>") == "<|im_start|>"
