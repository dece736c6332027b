import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_gguf import TEMPLATE, tiny_metadata

from chainserve.engine.word_lists import pack, unpack, word_ids, word_lists
from chainserve.errors import InvalidInput
from chainserve.tokenizer import Tokenizer
from chainserve_build.gguf_tokenizer import generation_config, hf_tokenizer

METADATA = tiny_metadata()
TOKENIZER = Tokenizer(hf_tokenizer(METADATA), generation_config(METADATA), TEMPLATE)

WORDS = st.lists(st.lists(st.integers(0, 1000), min_size=1).map(tuple))


def ids(text: str) -> tuple[int, ...]:
    return tuple(TOKENIZER.encode(text))


def test_a_word_counts_with_and_without_a_space_before_it() -> None:
    assert word_ids(TOKENIZER, ["END"]) == [ids("END"), ids(" END")]
    assert len(ids("END")) == len(ids(" END")) == 1


def test_a_word_that_starts_with_space_is_taken_as_it_is() -> None:
    assert word_ids(TOKENIZER, ["\n\n", " END"]) == [ids("\n\n"), ids(" END")]


def test_words_count_once_and_empty_ones_never() -> None:
    assert word_ids(TOKENIZER, ["END", "", "END"]) == word_ids(TOKENIZER, ["END"])


def test_a_comma_is_part_of_its_word() -> None:
    assert ids("a,b") in word_ids(TOKENIZER, ["a,b"])


def test_the_packed_form() -> None:
    assert pack([(5, 6), (7,)]).tolist() == [[5, 6, 7], [2, 3, -1]]
    assert pack([(5,)], width=3).tolist() == [[5, -1, -1], [1, -1, -1]]
    assert pack([]).shape == (2, 0)


def test_words_in_one_call() -> None:
    packed = word_lists(TOKENIZER, ["世"])
    assert packed.dtype == np.int32
    assert unpack("stop_words_list", packed) == [ids("世"), ids(" 世")]


@given(WORDS, st.integers(0, 3))
def test_unpacking_gives_back_the_words(words: list[tuple[int, ...]], padding: int) -> None:
    packed = pack(words, sum(map(len, words)) + padding)
    assert unpack("stop_words_list", packed) == words
    assert unpack("stop_words_list", packed[np.newaxis]) == words


@pytest.mark.parametrize(
    "packed",
    [
        [1, 2, 3],
        [[1, 2], [1, 2], [1, 2]],
        [[[1, 2], [1, 2]], [[1, 2], [1, 2]]],
        [[1, 2], [2, 1]],
        [[1, 2], [1, 3]],
        [[1, 2], [0, 1]],
    ],
)
def test_what_is_no_word_list_names_the_field(packed: list[object]) -> None:
    with pytest.raises(InvalidInput, match="bad_words_list"):
        unpack("bad_words_list", np.array(packed))
