import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage, Context, Passage
from chainserve.triton_io.context_tensors import context_from_tensors, context_to_tensors

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
CONTEXTS = st.builds(
    Context,
    TEXT,
    st.lists(st.builds(ChatMessage, st.sampled_from(["user", "assistant"]), TEXT), max_size=4).map(tuple),
    st.lists(st.builds(Passage, TEXT, TEXT, st.floats(-1, 1)), max_size=4).map(tuple),
)


@given(st.lists(CONTEXTS, min_size=1, max_size=3))
def test_both_directions(contexts: list[Context]) -> None:
    tensors = context_to_tensors(contexts)
    assert [tensor.name() for tensor in tensors] == ["profile", "history", "passages"]
    assert all(tensor.as_numpy().shape == (len(contexts), 1) for tensor in tensors)
    rows = zip(*(tensor.as_numpy()[:, 0].tolist() for tensor in tensors), strict=True)
    assert [context_from_tensors(*(value.decode() for value in row)) for row in rows] == contexts


def test_nothing_is_nothing() -> None:
    assert context_from_tensors("", "", "") == Context()


@pytest.mark.parametrize(
    ("history", "passages", "problem"),
    [
        ("{", "", "history: invalid json"),
        ('[{"role": "king", "content": "x"}]', "", r"history: 0.role: input should be"),
        ('[{"role": "user"}]', "", r"history: 0.content: field required"),
        ("", '[{"text": "x"}]', r"passages: 0.source: field required"),
        ("", '[{"text": "x", "source": "a", "score": "high"}]', r"passages: 0.score: .*valid number"),
        ("", "[" + ",".join(['{"text": "x", "source": "a"}'] * 1001) + "]", "passages: .*at most 1000"),
    ],
)
def test_what_is_wrong_is_named(history: str, passages: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        context_from_tensors("", history, passages)
