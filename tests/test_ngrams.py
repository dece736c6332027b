import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chainserve.ngrams import ngram_ids, sum_rows


@given(st.text(), st.integers(1, 1000))
def test_buckets_are_within_the_table(text: str, size: int) -> None:
    ids = ngram_ids(text, size)
    assert all(ids >= 0)
    assert all(ids < size)


def test_case_does_not_matter_and_words_do() -> None:
    assert ngram_ids("Hello World", 1 << 20).tolist() == ngram_ids("hello world", 1 << 20).tolist()
    assert ngram_ids("hello world", 1 << 20).tolist() != ngram_ids("world hello", 1 << 20).tolist()


def test_chinese_needs_no_spaces() -> None:
    assert set(ngram_ids("天气", 1 << 20)) < set(ngram_ids("明天的天气好", 1 << 20))


def test_rows_are_summed_over_the_root_of_their_number() -> None:
    table = np.ones((64, 2), dtype=np.float32)
    sums = sum_rows(table, ["天气", ""])
    assert np.allclose(sums, [[3 / 3**0.5] * 2, [0, 0]])
