from hypothesis import given
from hypothesis import strategies as st

from chainserve.engine.cpu.characters import CharacterHold

TOKENS = [bytes([value]) for value in range(256)] + [b"", "你好".encode(), "é".encode()[:1], b"ab"]


def hold() -> CharacterHold:
    return CharacterHold(TOKENS.__getitem__)


def spell(ids: tuple[int, ...]) -> bytes:
    return b"".join(TOKENS[number] for number in ids)


def test_a_character_leaves_whole() -> None:
    held = hold()
    first, second, third = "好".encode()
    assert held.push([first], [-1.0]) == ((), ())
    assert held.push([second], [-2.0]) == ((), ())
    assert held.push([third, 97], [-3.0, -4.0]) == ((first, second, third, 97), (-1.0, -2.0, -3.0, -4.0))


def test_what_is_whole_does_not_wait_for_what_is_not() -> None:
    held = hold()
    assert held.push([97, 0xE5], []) == ((97,), ())
    assert held.flush() == ((0xE5,), ())


@given(st.text(), st.data())
def test_increments_of_text_never_cut_a_character(text: str, data: st.DataObject) -> None:
    ids, held, out = list(text.encode()), hold(), []
    while ids:
        size = data.draw(st.integers(1, len(ids)))
        step, ids = ids[:size], ids[size:]
        out.append(held.push(step, [])[0])
    assert "".join(spell(part).decode() for part in out) == text
    assert held.flush() == ((), ())


@given(st.lists(st.lists(st.integers(0, len(TOKENS) - 1), max_size=4), max_size=12))
def test_nothing_is_lost_or_reordered(steps: list[list[int]]) -> None:
    held, out, probs = hold(), [], []
    for step in steps:
        ids, log_probs = held.push(step, [float(number) for number in step])
        out += ids
        probs += log_probs
    ids, log_probs = held.flush()
    everything = [number for step in steps for number in step]
    assert [*out, *ids] == everything
    assert [*probs, *log_probs] == [float(number) for number in everything]
