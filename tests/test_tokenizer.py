import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_gguf import SPECIAL, TEMPLATE, tiny_metadata

from chainserve.errors import InvalidInput, NotFound, Unsupported
from chainserve.tokenizer import StreamDecoder, Tokenizer, byte_alphabet
from chainserve_build.gguf_tokenizer import generation_config, hf_tokenizer, save_tokenizer

METADATA = tiny_metadata()
TOKENIZER = Tokenizer(hf_tokenizer(METADATA), generation_config(METADATA), TEMPLATE)

IDS = st.lists(st.integers(0, TOKENIZER.vocab_size - 1))
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def stream(ids: list[int]) -> list[str]:
    decoder = StreamDecoder(TOKENIZER)
    return [*(decoder.push([number]) for number in ids), decoder.flush()]


@pytest.fixture
def engine_dir(tmp_path: Path) -> Path:
    save_tokenizer(METADATA, tmp_path)
    return tmp_path


@given(TEXT)
def test_decoding_what_was_encoded_gives_the_text(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text), skip_special_tokens=False) == text


@given(IDS)
def test_a_stream_is_what_decoding_at_once_gives(ids: list[int]) -> None:
    assert "".join(stream(ids)) == TOKENIZER.decode(ids)


@given(IDS)
def test_decoding_agrees_with_hugging_face(ids: list[int]) -> None:
    assert TOKENIZER.decode(ids) == hf_tokenizer(METADATA).decode(ids, skip_special_tokens=True)


@given(TEXT)
def test_no_piece_of_a_stream_holds_a_broken_character(text: str) -> None:
    text = text.replace("\ufffd", "")
    pieces = stream(TOKENIZER.encode(text))
    assert not any("\ufffd" in piece for piece in pieces)


def test_a_character_waits_until_it_is_whole() -> None:
    assert stream(TOKENIZER.encode("a 世👩")) == ["a", " ", "", "世", "", "", "", "👩", ""]


def test_leading_spaces_stay() -> None:
    assert stream(TOKENIZER.encode(" END  END")) == [" END", " ", " END", ""]


def test_a_cut_character_shows_only_at_the_end() -> None:
    decoder = StreamDecoder(TOKENIZER)
    assert decoder.push(TOKENIZER.encode("世")[:1]) == ""
    assert decoder.flush() == "\ufffd"


def test_special_tokens() -> None:
    text = "<|im_start|>user\nhi<|im_end|>"
    ids = TOKENIZER.encode(text)
    assert (ids[0], ids[-1]) == (1, 2)
    assert TOKENIZER.decode(ids) == "user\nhi"
    assert TOKENIZER.decode(ids, skip_special_tokens=False) == text
    assert TOKENIZER.token_bytes(1) == b""
    assert TOKENIZER.special_tokens == SPECIAL


def test_bytes_of_tokens() -> None:
    (number,) = TOKENIZER.encode(" END")
    assert TOKENIZER.token_bytes(number) == b" END"
    assert TOKENIZER.token_bytes(TOKENIZER.encode("世")[0]) == "世".encode()[:2]


@pytest.mark.parametrize("number", [-1, TOKENIZER.vocab_size])
def test_an_id_outside_the_vocabulary_is_refused(number: int) -> None:
    with pytest.raises(InvalidInput, match=f"below {TOKENIZER.vocab_size}"):
        TOKENIZER.decode([number])


def test_loading_an_engine_folder(engine_dir: Path) -> None:
    tokenizer = Tokenizer.load(engine_dir)
    assert tokenizer.vocab_size == len(METADATA["tokenizer.ggml.tokens"])
    assert (tokenizer.eos_ids, tokenizer.pad_id) == ((2, 0), 2)
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|im_start|>", "<|im_end|>")
    assert tokenizer.chat_template == TEMPLATE


def test_a_pad_id_of_zero_counts() -> None:
    generation = generation_config(METADATA) | {"pad_token_id": 0}
    assert Tokenizer(hf_tokenizer(METADATA), generation, "").pad_id == 0


@pytest.mark.parametrize("name", ["tokenizer.json", "generation_config.json", "chat_template.jinja"])
def test_a_missing_file_is_named(engine_dir: Path, name: str) -> None:
    (engine_dir / name).unlink()
    with pytest.raises(NotFound, match=name):
        Tokenizer.load(engine_dir)


@pytest.mark.parametrize("name", ["tokenizer.json", "generation_config.json"])
def test_a_damaged_file_is_named(engine_dir: Path, name: str) -> None:
    (engine_dir / name).write_text("{")
    with pytest.raises(InvalidInput, match=name):
        Tokenizer.load(engine_dir)


@pytest.mark.parametrize("eos", [None, "x", [], [10**6]])
def test_an_eos_that_is_no_id_is_refused(engine_dir: Path, eos: object) -> None:
    (engine_dir / "generation_config.json").write_text(json.dumps({"eos_token_id": eos}))
    with pytest.raises(InvalidInput, match="eos_token_id"):
        Tokenizer.load(engine_dir)


def test_a_vocabulary_that_is_not_byte_level_is_refused(engine_dir: Path) -> None:
    path = engine_dir / "tokenizer.json"
    path.write_text(
        json.dumps(
            json.loads(path.read_text())
            | {"decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}}
        )
    )
    with pytest.raises(Unsupported, match="byte-level"):
        Tokenizer.load(engine_dir)


def test_the_alphabet_covers_every_byte_once() -> None:
    assert sorted(byte_alphabet().values()) == list(range(256))
