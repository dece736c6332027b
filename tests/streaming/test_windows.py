from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.streaming.windows import Window, WindowPlan, WindowPolicy, boundary

POLICY = WindowPolicy(first_chars=8, growth=2.0, max_chars=40, overlap_chars=5)


def windows(text: str, step: int, policy: WindowPolicy = POLICY) -> list[Window]:
    """Every window over a text that arrives `step` characters at a time."""
    plan, found = WindowPlan(policy), []
    for end in [*range(step, len(text), step), len(text)]:
        while (window := plan.next(text[:end], complete=end == len(text))) is not None:
            found.append(window)
    return found


def test_too_little_text_waits() -> None:
    assert WindowPlan(POLICY).next("short", complete=False) is None


def test_a_latin_word_is_not_cut() -> None:
    assert WindowPlan(POLICY).next("hello wonderf", complete=False) == Window(0, 6)


def test_chinese_is_cut_after_any_character() -> None:
    assert WindowPlan(POLICY).next("你好世界今天天气", complete=False) == Window(0, 8)


def test_windows_grow_and_overlap() -> None:
    found = windows("word " * 40, step=1)
    new_text = [found[0].end, *(b.end - a.end for a, b in pairwise(found))]
    assert new_text[:3] == [5, 15, 30]
    assert all(b.start == a.end - POLICY.overlap_chars for a, b in pairwise(found))


def test_a_word_without_end_is_checked_in_pieces() -> None:
    assert windows("x" * 100, step=7)[0] == Window(0, POLICY.max_chars)


def test_the_end_is_always_covered() -> None:
    assert windows("tail", step=10) == [Window(0, 4)]


@pytest.mark.parametrize(
    ("text", "cut"), [("see 3.14159", 4), ("a b", 2), ("好a", 1), ("e\u0301e\u0301", 0), ("go on.", 6)]
)
def test_boundaries(text: str, cut: int) -> None:
    assert boundary(text, 0, len(text)) == cut


@given(st.text(st.sampled_from("ab 。好界.5\u0301🙂"), max_size=300), st.integers(1, 50))
def test_windows_cover_everything_once_and_in_order(text: str, step: int) -> None:
    found = windows(text, step)
    ends = [0, *(window.end for window in found)]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text)
    assert all(window.start <= end for window, end in zip(found, ends, strict=False))
    assert all(window.end - end <= POLICY.max_chars for window, end in zip(found, ends, strict=False))
