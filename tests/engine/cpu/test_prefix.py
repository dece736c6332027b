from hypothesis import given
from hypothesis import strategies as st

from chainserve.engine.cpu.prefix import PrefixLedger, Reuse

LONG = list(range(100, 140))


def ledger(capacity: int = 100) -> PrefixLedger:
    return PrefixLedger(block_size=8, capacity=capacity)


def test_nothing_is_known_at_first() -> None:
    assert ledger().find(LONG) == Reuse()


def test_a_running_prompt_shares_its_full_blocks() -> None:
    known = ledger()
    known.keep(LONG[:20], ended=False)
    assert known.find(LONG) == Reuse(blocks=2, tokens=16)


def test_an_ended_sequence_shares_its_last_block_too() -> None:
    known = ledger()
    known.keep(LONG[:20], ended=True)
    assert known.find(LONG) == Reuse(blocks=3, tokens=20)


def test_the_last_token_is_always_computed() -> None:
    known = ledger()
    known.keep(LONG[:16], ended=True)
    assert known.find(LONG[:16]) == Reuse(blocks=2, tokens=15)


def test_another_beginning_shares_nothing() -> None:
    known = ledger()
    known.keep(LONG, ended=True)
    assert known.find([1, *LONG[1:]]) == Reuse()


def test_the_oldest_block_goes_first() -> None:
    known = ledger(capacity=2)
    known.keep(LONG[:8], ended=True)
    known.keep([1] * 8, ended=True)
    known.find(LONG[:9])
    known.keep([2] * 8, ended=True)
    assert known.find([*LONG[:8], 0]).blocks == 1
    assert known.find([1] * 9).blocks == 0


def test_no_cache() -> None:
    known = ledger(capacity=0)
    known.keep(LONG, ended=True)
    assert known.find(LONG) == Reuse()


@given(st.lists(st.integers(0, 1), max_size=30), st.lists(st.integers(0, 1), min_size=1, max_size=30))
def test_reuse_is_a_common_beginning(kept: list[int], asked: list[int]) -> None:
    known = ledger()
    known.keep(kept, ended=True)
    found = known.find(asked)
    assert kept[: found.tokens] == asked[: found.tokens]
    assert found.tokens < len(asked)
