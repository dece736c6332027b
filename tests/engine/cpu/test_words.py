from hypothesis import given
from hypothesis import strategies as st

from chainserve.engine.cpu.words import StopWords


def test_a_word_over_two_steps() -> None:
    words = StopWords(((7, 8), (9,)))
    assert words.match([1, 7]) is None
    assert words.match([8, 2]) == 1


def test_the_first_end_counts() -> None:
    assert StopWords(((1, 2, 3), (2,))).match([1, 2, 3]) == 2


def test_no_words() -> None:
    assert StopWords(()).match([1, 2]) is None


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), min_size=1, max_size=3), st.integers(1, 4))
def test_steps_of_any_size_find_what_one_step_finds(ids: list[int], word: list[int], size: int) -> None:
    at_once = StopWords((tuple(word),)).match(ids)
    in_steps, seen = StopWords((tuple(word),)), 0
    for start in range(0, len(ids), size):
        kept = in_steps.match(ids[start : start + size])
        if kept is not None:
            assert seen + kept == at_once
            return
        seen += size
    assert at_once is None
