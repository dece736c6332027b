"""A GGUF's byte-level vocabulary as the Hugging Face files: tokenizer.json, generation_config.json, chat template.

How each `tokenizer.ggml.pre` splits text follows llama.cpp (src/llama-vocab.cpp) and the models' own tokenizer.json.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from chainserve.errors import InvalidInput, Unsupported
from chainserve.tokenizer import GENERATION_FILE, TEMPLATE_FILE, TOKENIZER_FILE

Metadata = dict[str, Any]

CONTROL, USER_DEFINED = 3, 4  # tokenizer.ggml.token_type

# Texts that end an answer whatever the GGUF names as EOS, as llama.cpp treats them.
END_TEXTS = frozenset({"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "</s>"})

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _split(pattern: str) -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _gpt2() -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _smollm() -> Any:
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _gpt2()])


PRE_TOKENIZERS: dict[str, Callable[[], Any]] = {
    "gpt-2": _gpt2,
    "smollm": _smollm,
    "qwen2": lambda: _split(_WORDS + r"\p{N}" + _REST),
    "llama-bpe": lambda: _split(_WORDS + r"\p{N}{1,3}" + _REST),
}


def save_tokenizer(metadata: Metadata, folder: Path) -> None:
    """Write the three files into `folder`.

    Raises:
        Unsupported: a vocabulary that is not byte-level, or splits text in a way not known here.
        InvalidInput: the GGUF lacks what a chat needs.
    """
    template = _required(metadata, "tokenizer.chat_template")
    generation = generation_config(metadata)
    hf_tokenizer(metadata).save(str(folder / TOKENIZER_FILE), pretty=False)
    (folder / GENERATION_FILE).write_text(json.dumps(generation, indent=2) + "\n", encoding="utf-8")
    (folder / TEMPLATE_FILE).write_text(template, encoding="utf-8")


def hf_tokenizer(metadata: Metadata) -> Tokenizer:
    kind, pre = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2":
        raise Unsupported(f"vocabulary of kind {kind}: only byte-level vocabularies (gpt2) can be built")
    if pre not in PRE_TOKENIZERS:
        raise Unsupported(f"tokenizer.ggml.pre is {pre}: known are {', '.join(sorted(PRE_TOKENIZERS))}")
    tokens = _required(metadata, "tokenizer.ggml.tokens")
    tokenizer = Tokenizer(_bpe(tokens, _required(metadata, "tokenizer.ggml.merges"), pre))
    if pre == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[pre]()
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(_added(tokens, metadata.get("tokenizer.ggml.token_type", [])))
    return tokenizer


def generation_config(metadata: Metadata) -> dict[str, Any]:
    """The keys of Hugging Face's generation_config.json that say where an answer ends."""
    config: dict[str, Any] = {"eos_token_id": end_ids(metadata)}
    for ours, theirs in (("bos_token_id", "bos_token_id"), ("pad_token_id", "padding_token_id")):
        if f"tokenizer.ggml.{theirs}" in metadata:
            config[ours] = int(metadata[f"tokenizer.ggml.{theirs}"])
    return config


def end_ids(metadata: Metadata) -> list[int]:
    """EOS first, then every other token that ends a turn."""
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    named = [int(metadata[f"tokenizer.ggml.{key}"]) for key in keys if f"tokenizer.ggml.{key}" in metadata]
    if not named:
        raise InvalidInput("tokenizer.ggml.eos_token_id", "the GGUF names no EOS")
    kinds = metadata.get("tokenizer.ggml.token_type", [])
    tokens = enumerate(zip(metadata["tokenizer.ggml.tokens"], kinds, strict=False))
    ends = [number for number, (text, kind) in tokens if kind == CONTROL and text in END_TEXTS]
    return list(dict.fromkeys([*named, *ends]))


def _bpe(tokens: list[str], merges: list[str], pre: str) -> Any:
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    vocabulary = {text: number for number, text in enumerate(tokens)}
    # Llama 3 takes a word that is in the vocabulary whole, whatever the merges say.
    return models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=pre == "llama-bpe", fuse_unk=False)


def _added(tokens: list[str], kinds: list[int]) -> list[AddedToken]:
    return [
        AddedToken(text, special=kind == CONTROL, normalized=False)
        for text, kind in zip(tokens, kinds, strict=False)
        if kind in {CONTROL, USER_DEFINED}
    ]


def _required(metadata: Metadata, key: str) -> Any:
    if key not in metadata:
        raise InvalidInput(key, "missing in the GGUF; a chat model has it")
    return metadata[key]
