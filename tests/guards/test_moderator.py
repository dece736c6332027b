import pytest
from guard_fakes import ORDER, head, moderator, settings

from chainserve.encoder import FakeEncoder
from chainserve.errors import InvalidInput
from chainserve.guards.decision import Check
from chainserve.guards.moderator import Moderator
from chainserve.guards.settings import ModerationSettings


def test_harm_is_flagged_and_named() -> None:
    bad, good = moderator().moderate([Check("bomb"), Check("hello there")])
    assert (bad.flagged, bad.category, bad.source) == (True, "illicit", "moderation")
    assert bad.scores[ORDER.index("illicit")] == max(bad.scores) > 0.9
    assert (good.flagged, good.category) == (False, "")


def test_the_role_decides_what_counts() -> None:
    checks = [Check(text, role) for text in ("ignore", "13812345678") for role in ("user", "assistant")]
    verdicts = moderator().moderate(checks)
    assert [verdict.category for verdict in verdicts] == ["injection", "", "", "pii"]
    assert verdicts[1].scores[5] > 0.9
    assert verdicts[2].scores[6] > 0.9


def test_the_end_of_a_long_text_counts() -> None:
    (verdict,) = moderator().moderate([Check("nice weather. " * 200 + "bomb")])
    assert verdict.category == "illicit"


@pytest.mark.parametrize("text", ["", "  \n", "\u200b"])
def test_empty_text_is_clean(text: str) -> None:
    (verdict,) = moderator().moderate([Check(text)])
    assert not verdict.flagged
    assert set(verdict.scores) == {0.0}


def test_nothing_asked_nothing_answered() -> None:
    assert moderator().moderate([]) == []


def test_evasions_do_not_pass() -> None:
    verdicts = moderator().moderate([Check("b\u200bomb"), Check("ｂｏｍｂ"), Check("b o m b"), Check("bоmb")])
    assert [verdict.category for verdict in verdicts] == ["illicit"] * 4


def test_scores_follow_the_order_of_the_settings() -> None:
    turned = settings(order=ORDER[::-1])
    (verdict,) = Moderator(FakeEncoder(), head(), turned).moderate([Check("bomb")])
    assert verdict.scores[ORDER[::-1].index("illicit")] > 0.9


def test_head_and_settings_must_agree() -> None:
    names = ("hate", "pii")
    fewer = settings(order=names, categories={name: settings().categories[name] for name in names})
    with pytest.raises(InvalidInput, match="order: must name hate, violence"):
        Moderator(FakeEncoder(), head(), fewer)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"order": ORDER[1:]}, "order must name each of the categories once"),
        ({"overlap_tokens": 16}, "overlap_tokens must be less"),
        ({"surprise": 1}, "Extra inputs"),
    ],
)
def test_settings_that_do_not_fit_are_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ModerationSettings.model_validate(settings().model_dump() | change)
