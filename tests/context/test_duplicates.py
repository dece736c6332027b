import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.context.duplicates import Fingerprint, distinct

LONG = "Paris lies on the river Seine and has about two million people within its city limits"


@pytest.mark.parametrize(
    ("first", "second", "near"),
    [
        (f"{LONG}.", f"{LONG.upper()} !", True),
        (LONG, LONG.replace("about two", "some two"), True),
        ("The capital of France is Paris.", "The capital of Spain is Madrid.", False),
        ("北京是中国的首都，人口很多。", "北京是中国的首都，人口很多！", True),
        ("北京是中国的首都。", "东京是日本的首都。", False),
        ("", "", True),
        ("a", "", False),
    ],
)
def test_near(first: str, second: str, near: bool) -> None:
    assert Fingerprint(first).near(Fingerprint(second)) is near
    assert Fingerprint(second).near(Fingerprint(first)) is near


@given(st.lists(st.text("ab", max_size=12), max_size=12))
def test_the_short_cut_finds_what_comparing_all_finds(texts: list[str]) -> None:
    kept: list[int] = []
    for place, text in enumerate(texts):
        if not any(Fingerprint(text).near(Fingerprint(texts[other])) for other in kept):
            kept.append(place)
    assert distinct(texts) == kept
