import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.context.chunks import columns, passages_of


@pytest.mark.parametrize(
    ("text", "width", "passages"),
    [
        ("", 40, []),
        ("# Title only\n", 40, []),
        ("One.\n\nTwo.", 40, ["One.\nTwo."]),
        ("One.\n\nTwo.", 6, ["One.", "Two."]),
        ("a line\nthat goes on", 40, ["a line that goes on"]),
        ("一行，\n接着一行。", 40, ["一行，接着一行。"]),
        ("# France\nParis.\n\n## Food\n\nCheese.", 40, ["France: Paris.", "Food: Cheese."]),
        ("First one. Second one. 3.14 is pi.", 24, ["First one. Second one.", "3.14 is pi."]),
        ("北京是首都。上海很大！人口多吗？多。", 18, ["北京是首都。", "上海很大！", "人口多吗？多。"]),
        ("words without an end " * 2, 12, ["words", "without an", "end words", "without an", "end"]),
        ("世" * 7, 6, ["世世世", "世世世", "世"]),
        ("one\r\n\r\ntwo", 3, ["one", "two"]),
    ],
)
def test_where_a_text_is_cut(text: str, width: int, passages: list[str]) -> None:
    assert passages_of(text, width) == passages


@given(st.text("ab 世界。.!\n#", max_size=200), st.integers(30, 60))
def test_nothing_is_lost_and_nothing_too_wide(text: str, width: int) -> None:
    passages = passages_of(f"x {text}", width)  # an "x" first, so that there is a passage
    heads = max((columns(line) for line in text.splitlines() if line.lstrip().startswith("#")), default=0)
    assert all(columns(passage) <= max(width, heads + 3) for passage in passages)
    kept = "".join("".join(passages).split())
    lines = [line.strip() for line in f"x {text}".splitlines()]
    body = "".join("".join(line.split()) for line in lines if not line.startswith("#"))
    remaining = iter(kept)
    assert all(character in remaining for character in body)


def test_chinese_is_twice_as_wide() -> None:
    assert columns("ab世界，") == 8
