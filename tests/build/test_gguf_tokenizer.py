from typing import Any

import pytest
from tiny_gguf import tiny_metadata

from chainserve.errors import InvalidInput, Unsupported
from chainserve_build.gguf_tokenizer import PRE_TOKENIZERS, end_ids, generation_config, hf_tokenizer


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in tiny_metadata().items() if name != key}


def pieces(pre: str, text: str) -> list[str]:
    """How `pre` splits `text` before any merge, in plain characters."""
    return [text[start:end] for _, (start, end) in PRE_TOKENIZERS[pre]().pre_tokenize_str(text)]


@pytest.mark.parametrize(
    ("pre", "expected"),
    [
        ("gpt-2", ["It", "'s", " 1234", " 世界", "!\n"]),
        ("smollm", ["It", "'s", " ", "1", "2", "3", "4", " 世界", "!\n"]),
        ("qwen2", ["It", "'s", " ", "1", "2", "3", "4", " 世界", "!\n"]),
        ("llama-bpe", ["It", "'s", " ", "123", "4", " 世界", "!\n"]),
    ],
)
def test_how_each_family_splits(pre: str, expected: list[str]) -> None:
    if pre in {"gpt-2", "smollm"}:
        expected = [*expected[:-1], "!", "\n"]
    assert pieces(pre, "It's 1234 世界!\n") == expected


def test_an_unknown_split_is_refused_and_the_known_are_named() -> None:
    with pytest.raises(Unsupported, match=r"tokenizer\.ggml\.pre is viking.*llama-bpe, qwen2, smollm"):
        hf_tokenizer(tiny_metadata("viking"))


def test_a_vocabulary_of_another_kind_is_refused() -> None:
    with pytest.raises(Unsupported, match="kind llama"):
        hf_tokenizer(tiny_metadata() | {"tokenizer.ggml.model": "llama"})


@pytest.mark.parametrize("key", ["tokenizer.ggml.tokens", "tokenizer.ggml.merges"])
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(InvalidInput, match=key):
        hf_tokenizer(without(key))


def test_eos_comes_first_then_the_other_ends() -> None:
    assert end_ids(tiny_metadata()) == [2, 0]
    assert end_ids(tiny_metadata() | {"tokenizer.ggml.eos_token_id": 0, "tokenizer.ggml.eot_token_id": 1}) == [0, 1, 2]


def test_no_eos_is_refused() -> None:
    with pytest.raises(InvalidInput, match="EOS"):
        end_ids(without("tokenizer.ggml.eos_token_id"))


def test_ids_that_the_gguf_lacks_are_left_out() -> None:
    assert generation_config(without("tokenizer.ggml.bos_token_id")) == {"eos_token_id": [2, 0], "pad_token_id": 2}


def test_a_user_defined_token_is_one_token_and_shows() -> None:
    metadata = tiny_metadata()
    metadata["tokenizer.ggml.tokens"].append("<tool>")
    metadata["tokenizer.ggml.token_type"].append(4)
    tokenizer = hf_tokenizer(metadata)
    (number,) = tokenizer.encode("<tool>").ids
    assert tokenizer.decode([number], skip_special_tokens=True) == "<tool>"
