"""The engine's tokenizer: text to ids and back, in one piece or as a stream of whole characters.

An engine folder has the Hugging Face files tokenizer.json, generation_config.json (EOS ids) and chat_template.jinja.
Only byte-level vocabularies are read (GPT-2's scheme: SmolLM, Qwen, Llama 3): there every token is a run of raw bytes,
so decoding is joining bytes, and a stream can tell an incomplete character from a broken one.
"""

import codecs
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as HfTokenizer

from chainserve.errors import InvalidInput, NotFound, Unsupported

TOKENIZER_FILE = "tokenizer.json"
GENERATION_FILE = "generation_config.json"
TEMPLATE_FILE = "chat_template.jinja"


class Tokenizer:
    """Attributes:

    vocab_size: number of ids, special tokens included.
    eos_ids: ids that end an answer; the first is the model's own EOS.
    pad_id: the id for padding; the EOS where the model names none.
    bos_token, eos_token: their text, as chat templates want it; "" where there is none.
    special_tokens: the text of every special token, in the order of their ids.
    chat_template: Jinja source.
    """

    def __init__(self, hf: HfTokenizer, generation: dict[str, Any], chat_template: str) -> None:
        self._hf = hf
        self.chat_template = chat_template
        self._texts = _texts(hf)
        self.vocab_size = max(self._texts) + 1
        self.eos_ids = _eos_ids(generation, self.vocab_size)
        self.pad_id = int(generation.get("pad_token_id", self.eos_ids[0]))
        special = {number for number, token in hf.get_added_tokens_decoder().items() if token.special}
        self._bytes = _byte_table(self._texts, set(hf.get_added_tokens_decoder()), special)
        self._special = {number: self._texts[number].encode() for number in sorted(special)}
        self.special_tokens = tuple(self._texts[number] for number in self._special)
        self.eos_token = self._texts[self.eos_ids[0]]
        self.bos_token = self._texts.get(generation.get("bos_token_id", -1), "")

    @classmethod
    def load(cls, engine_dir: Path) -> "Tokenizer":
        """Raises: NotFound for a missing file; InvalidInput for a damaged one; Unsupported if not byte-level."""
        data = _read(engine_dir / TOKENIZER_FILE)
        hf = _parse(engine_dir / TOKENIZER_FILE, data)
        generation = _json(engine_dir / GENERATION_FILE)
        return cls(hf, generation, _read(engine_dir / TEMPLATE_FILE))

    def encode(self, text: str) -> list[int]:
        """Ids of `text`. The text of a special token becomes that token; nothing is added."""
        return list(self._hf.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """Text of `ids`. Bytes that are no UTF-8 become U+FFFD; no space is added or removed."""
        return self._join(ids, skip_special_tokens).decode("utf-8", errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """Raw bytes of one token, b"" for a special token.

        Raises:
            InvalidInput: no such id.
        """
        if not 0 <= token_id < self.vocab_size:
            raise InvalidInput("token id", f"must be at least 0 and below {self.vocab_size}")
        return self._bytes[token_id]

    def _join(self, ids: Iterable[int], skip_special_tokens: bool) -> bytes:
        if skip_special_tokens:
            return b"".join(map(self.token_bytes, ids))
        return b"".join(self._special.get(number) or self.token_bytes(number) for number in ids)


class StreamDecoder:
    """Ids in, whole characters out. All pieces joined are what decoding all ids at once gives."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, ids: Iterable[int]) -> str:
        """The text that is complete now; the bytes of an incomplete character wait for the rest."""
        return self._decoder.decode(b"".join(map(self._tokenizer.token_bytes, ids)))

    def flush(self) -> str:
        """The end: what still waits is broken, and becomes U+FFFD."""
        return self._decoder.decode(b"", final=True)


def byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-ins for the 256 bytes: character to byte.

    Printable Latin-1 stands for itself, the rest is moved to U+0100 and up in order (Radford et al., 2019).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(hidden)}


def _texts(hf: HfTokenizer) -> dict[int, str]:
    return {number: text for text, number in hf.get_vocab(with_added_tokens=True).items()}


def _byte_table(texts: dict[int, str], added: set[int], special: set[int]) -> list[bytes]:
    alphabet = byte_alphabet()
    table = [b""] * (max(texts) + 1)
    for number, text in texts.items():
        if number not in special:
            table[number] = text.encode() if number in added else _raw(text, alphabet)
    return table


def _raw(text: str, alphabet: dict[str, int]) -> bytes:
    try:
        return bytes(alphabet[character] for character in text)
    except KeyError:
        return text.encode()  # an entry no text reaches, such as a padding name


def _eos_ids(generation: dict[str, Any], vocab_size: int) -> tuple[int, ...]:
    named = generation.get("eos_token_id")
    ids = tuple(named) if isinstance(named, list) else (named,)
    if not ids or not all(isinstance(number, int) and 0 <= number < vocab_size for number in ids):
        raise InvalidInput(GENERATION_FILE, f"eos_token_id must be an id below {vocab_size} or a list of them")
    return ids


def _parse(path: Path, data: str) -> HfTokenizer:
    try:
        scheme = json.loads(data)
        hf = HfTokenizer.from_str(data)
    except Exception as error:  # tokenizers raises bare Exception
        raise InvalidInput(str(path), f"no tokenizer: {error}") from error
    if "ByteLevel" not in json.dumps(scheme.get("decoder")):
        raise Unsupported(f"{path}: only byte-level vocabularies are supported")
    return hf


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(_read(path)))
    except ValueError as error:
        raise InvalidInput(str(path), f"not a JSON object: {error}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(f"tokenizer file {path}: {error.strerror}") from error
