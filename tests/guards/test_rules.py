import pytest
from guard_fakes import ORDER, head, rules_settings

from chainserve.guards.decision import Check
from chainserve.guards.rules import RuleGuard

GUARD = RuleGuard(head(width=0), rules_settings(patterns={"self_harm": ["自杀", "(?i)end my life"]}))


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("bomb", "illicit"),
        ("nice weather. " * 200 + "bomb", "illicit"),
        ("我想自 杀", "self_harm"),
        ("I will END my life", "self_harm"),
        ("hello there", ""),
        ("", ""),
    ],
)
def test_words_phrases_and_nothing(text: str, category: str) -> None:
    (verdict,) = GUARD.moderate([Check(text)])
    assert (verdict.category, verdict.flagged, verdict.source) == (category, category != "", "rules")
    assert len(verdict.scores) == len(ORDER)


def test_personal_data_in_an_answer() -> None:
    user, assistant = GUARD.moderate([Check("13812345678", "user"), Check("13812345678", "assistant")])
    assert (user.flagged, assistant.category) == (False, "pii")


def test_patterns_of_no_category_are_refused() -> None:
    with pytest.raises(ValueError, match="patterns: no category gossip"):
        rules_settings(patterns={"gossip": ["psst"]})
