from hypothesis import given
from hypothesis import strategies as st

from chainserve.encoder import FakeEncoder
from chainserve.guards.segments import segments, sentences


def test_sentences_end_in_both_languages() -> None:
    text = "One. Two 3.5 e.g.x! 第一句。第二句？最后"
    assert list(sentences(text)) == ["One.", "Two 3.5 e.g.x!", "第一句。", "第二句？", "最后"]


@given(st.text(alphabet="ab。. !天气", max_size=200))
def test_segments_are_bounded_and_cover_the_text(text: str) -> None:
    found = segments(text, FakeEncoder(), 16, 4)
    assert all(len(piece) <= 16 for piece in found)
    assert set(text) <= set("".join(found))
    assert len(found) == len(set(found))


def test_a_short_sentence_stands_alone_and_an_empty_text_has_none() -> None:
    assert segments("Fine. Bad one", FakeEncoder(), 64, 8) == ["Fine. Bad one", "Fine.", "Bad one"]
    assert segments("", FakeEncoder(), 64, 8) == []
