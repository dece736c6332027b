from hypothesis import given
from hypothesis import strategies as st

from chainserve.streaming.stop_words import StopWords


def run(words: tuple[str, ...], pieces: list[str]) -> tuple[str, bool]:
    stop = StopWords(words)
    text = "".join(stop.push(piece) for piece in pieces)
    return text + stop.flush(), stop.stopped


def test_a_stop_word_cut_into_tokens_matches() -> None:
    assert run(("###",), ["answer #", "#", "# more"]) == ("answer ", True)


def test_the_beginning_of_a_stop_word_leaves_at_the_end() -> None:
    assert run(("###",), ["a ##"]) == ("a ##", False)


def test_chinese_stop_words_match_inside_a_sentence() -> None:
    assert run(("。结束",), ["你好", "。", "结束", "吧"]) == ("你好", True)


def test_nothing_leaves_after_a_match() -> None:
    stop = StopWords(("x",))
    assert (stop.push("axb"), stop.push("c"), stop.flush()) == ("a", "", "")


def test_the_earliest_of_several_words_wins() -> None:
    assert run(("late", "ear"), ["an ear then late"]) == ("an ", True)


@given(st.text("ab#", max_size=30), st.lists(st.integers(1, 4), max_size=30), st.text("ab#", min_size=1, max_size=4))
def test_pieces_do_not_matter(text: str, sizes: list[int], word: str) -> None:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    pieces.append(text[at:])
    expected = text.split(word, 1)
    assert run((word,), pieces) == (expected[0], len(expected) == 2)
