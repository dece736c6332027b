from pathlib import Path

import pytest

from chainserve.config import load_toml
from chainserve.context.interfaces import FixedIndex, Session
from chainserve.context.retrieval import Query, Retrieval, Search
from chainserve.context.settings import ContextSettings, SearchLimits
from chainserve.context.store import Store
from chainserve.encoder import FakeEncoder, Vectors
from chainserve.guards.language import language_of
from chainserve.messages import ChatMessage, Context, Passage

LIMITS = SearchLimits(top_k=5, min_score=0.3, max_drop=0.2, max_chars=60, max_query_chars=10)
SETTINGS = ContextSettings(history_turns=2, search=LIMITS)
NOBODY = Session()
CONFIG = Path(__file__).parents[2] / "model_repository" / "context" / "1" / "context.toml"


class RecordingEncoder(FakeEncoder):
    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "asked", [])

    def encode(self, texts: list[str]) -> Vectors:  # type: ignore[override]
        self.asked.append(texts)  # type: ignore[attr-defined]
        return super().encode(texts)


def found(text: str, *passages: Passage) -> list[str]:
    search = Search(FixedIndex(passages), FakeEncoder(), LIMITS, language_of)
    return [passage.text for passage in search.passages([text])[0]]


def test_only_what_is_relevant() -> None:
    assert found("why", Passage("near", "a", 0.6), Passage("far", "b", 0.39), Passage("farther", "c", 0.1)) == ["near"]
    assert found("why", Passage("weak", "a", 0.29)) == []
    assert found("why") == []


def test_each_is_said_once() -> None:
    assert found("why", Passage("The same words.", "a", 0.6), Passage("the same words!", "b", 0.5)) == [
        "The same words."
    ]


def test_whole_ones_within_the_limit() -> None:
    long, short = Passage("x" * 61, "a", 0.6), Passage("short", "b", 0.5)
    assert found("why", long, short) == ["short"]


@pytest.mark.parametrize(
    ("question", "texts"),
    [("Where is Paris?", ["Paris lies on the Seine."]), ("巴黎在哪里？", ["巴黎位于塞纳河畔。"])],
)
def test_the_language_of_the_question_comes_first(question: str, texts: list[str]) -> None:
    both = (Passage("巴黎位于塞纳河畔。", "zh", 0.7), Passage("Paris lies on the Seine.", "en", 0.4))
    assert found(question, *both) == texts
    assert found(question, both[0]) == ["巴黎位于塞纳河畔。"]


def test_a_long_question_is_searched_by_its_ends() -> None:
    encoder = RecordingEncoder()
    Search(FixedIndex(), encoder, LIMITS, language_of).passages(["abcdefghijklmnop", "short"])
    assert encoder.asked == [["abcde lmnop", "short"]]  # type: ignore[attr-defined]


def test_one_pass_of_the_encoder_and_none_for_nothing(tmp_path: Path) -> None:
    encoder = RecordingEncoder()
    search = Search(FixedIndex((Passage("p", "a", 0.9),)), encoder, LIMITS, language_of)
    retrieval = Retrieval(Store(tmp_path), search, SETTINGS)
    contexts = retrieval.fetch([Query("a", NOBODY), Query("  ", NOBODY), Query("b", NOBODY)])
    assert encoder.asked == [["a", "b"]]  # type: ignore[attr-defined]
    assert [len(context.passages) for context in contexts] == [1, 0, 1]
    assert retrieval.fetch([Query("", NOBODY)]) == [Context()]
    assert retrieval.fetch([]) == []
    assert len(encoder.asked) == 1  # type: ignore[attr-defined]


def test_profile_and_latest_turns(tmp_path: Path) -> None:
    store, li = Store(tmp_path), Session("acme", "li", "s1")
    for number in range(3):
        store.append_turn(li, f"q{number}", f"a{number}")
    store.set_profile("acme", "li", "vegan")
    mine, other = Retrieval(store, None, SETTINGS).fetch([Query("?", li), Query("?", Session("acme", "li", "s2"))])
    assert mine.profile == other.profile == "vegan"
    assert mine.history == tuple(
        message
        for number in (1, 2)
        for message in (ChatMessage("user", f"q{number}"), ChatMessage("assistant", f"a{number}"))
    )
    assert other.history == ()


def test_the_shipped_policy() -> None:
    assert load_toml(CONFIG, ContextSettings).search.top_k > 0
