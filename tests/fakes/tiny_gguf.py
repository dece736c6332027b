"""A chat model small enough for a unit test: all bytes, three words, ChatML's tokens, one layer of 64."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np

from chainserve.tokenizer import byte_alphabet

WIDTH, HEADS, LAYERS, CONTEXT = 64, 2, 1, 128
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# END, " END" and the first two bytes of 世 are tokens of their own.
MERGES = ("E N", "EN D", "Ġ END", "ä ¸")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


def tiny_metadata(pre: str = "smollm") -> dict[str, Any]:
    """What gguf_file.metadata_of reads from the file that `write_tiny_gguf` writes, the tokenizer's part."""
    tokens = [*SPECIAL, *byte_alphabet(), *(merge.replace(" ", "") for merge in MERGES)]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)),
        "tokenizer.ggml.merges": list(MERGES),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.chat_template": TEMPLATE,
    }


def write_tiny_gguf(path: Path, kind: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.Q4_1) -> None:
    metadata = tiny_metadata()
    writer = gguf.GGUFWriter(path, "llama")
    _add_shape(writer)
    _add_tokenizer(writer, metadata)
    _add_tensors(writer, len(metadata["tokenizer.ggml.tokens"]), kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: gguf.GGUFWriter) -> None:
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(int(gguf.LlamaFileType.MOSTLY_Q4_1))


def _add_tokenizer(writer: gguf.GGUFWriter, metadata: dict[str, Any]) -> None:
    writer.add_tokenizer_model(metadata["tokenizer.ggml.model"])
    writer.add_tokenizer_pre(metadata["tokenizer.ggml.pre"])
    writer.add_token_list(metadata["tokenizer.ggml.tokens"])
    writer.add_token_types(metadata["tokenizer.ggml.token_type"])
    writer.add_token_merges(metadata["tokenizer.ggml.merges"])
    writer.add_bos_token_id(metadata["tokenizer.ggml.bos_token_id"])
    writer.add_eos_token_id(metadata["tokenizer.ggml.eos_token_id"])
    writer.add_pad_token_id(metadata["tokenizer.ggml.padding_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(metadata["tokenizer.chat_template"])


def _add_tensors(writer: gguf.GGUFWriter, vocabulary: int, kind: gguf.GGMLQuantizationType) -> None:
    random = np.random.default_rng(7)
    square = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    _matrix(writer, "token_embd.weight", random.normal(size=(vocabulary, WIDTH)), gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, dtype=np.float32))
        for name in square:
            _matrix(writer, f"blk.{layer}.{name}.weight", random.normal(size=(WIDTH, WIDTH)), kind)


def _matrix(writer: gguf.GGUFWriter, name: str, values: np.ndarray, kind: gguf.GGMLQuantizationType) -> None:
    writer.add_tensor(name, gguf.quants.quantize(values.astype(np.float32), kind), raw_dtype=kind)
