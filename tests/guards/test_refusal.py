import pytest
from pydantic import ValidationError

from chainserve.guards.refusal import Refusals

REFUSALS = Refusals(
    default={"en": "I cannot help with that.", "zh": "抱歉，我不能帮助你。"},
    categories={"self_harm": {"en": "You are not alone.", "zh": "你并不孤单。"}, "pii": {"en": "That is private."}},
)


@pytest.mark.parametrize(
    ("category", "question", "text"),
    [
        ("hate", "say something nasty", "I cannot help with that."),
        ("hate", "说点难听的", "抱歉，我不能帮助你。"),
        ("self_harm", "我不想活了", "你并不孤单。"),
        ("pii", "what is his number", "That is private."),
        ("pii", "他的号码是多少", "抱歉，我不能帮助你。"),
        ("", "", "I cannot help with that."),
    ],
)
def test_the_text_fits_category_and_language(category: str, question: str, text: str) -> None:
    assert REFUSALS.text(category, question) == text


def test_both_languages_must_have_a_default() -> None:
    with pytest.raises(ValidationError, match="no text for zh"):
        Refusals(default={"en": "No."})


def test_other_languages_are_unknown_keys() -> None:
    with pytest.raises(ValidationError):
        Refusals(default={"en": "No.", "zh": "不。", "fr": "Non."})
