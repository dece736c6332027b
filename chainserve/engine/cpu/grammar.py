"""Guided decoding: what a grammar is for the library, and whether it can be one.

A grammar that does not parse would be found out in the middle of a step and would take every running sequence with it.
So each one is tried first, in a pipeline of its own: a model without weights that shares the real one's tokenizer.
That compiles the grammar too, and the tokenizer keeps what was compiled: the step finds it ready.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai
from openvino import opset13 as ops

from chainserve.engine.cpu.requests import Decoding
from chainserve.messages import Guide

_KEYS = {"json_schema": "json_schema", "regex": "regex", "ebnf_grammar": "grammar"}
_PARSER_WORDS = re.compile(r"(?:is false: |(?=Regex parsing error|EBNF ))([^\n]+?)(?: near: | The JSON string is|\n|$)")
_ANY_JSON = json.dumps({"type": "object"})


def structured_output(decoding: Decoding) -> Any | None:
    """The library's configuration; None for free text."""
    if decoding.guide is not None:
        return openvino_genai.StructuredOutputConfig(**_guide(decoding.guide))
    if decoding.bad_words:
        return openvino_genai.StructuredOutputConfig(structural_tags_config=_without(decoding.bad_words))
    return None


def _guide(guide: Guide) -> dict[str, str]:
    """`json` is any JSON object, as it is in OpenAI's API."""
    return {"json_schema": _ANY_JSON} if guide.kind == "json" else {_KEYS[guide.kind]: guide.text}


def _without(bad_words: tuple[str, ...]) -> str:
    """Any text in which none of the words occurs."""
    return json.dumps({"type": "structural_tag", "format": {"type": "any_text", "excludes": bad_words}})


class GrammarProbe:
    """Args: tokenizer: the pipeline's; vocab_size: width of its logits; eos_id: any end id of the model."""

    def __init__(self, tokenizer: Any, vocab_size: int, eos_id: int) -> None:
        defaults = openvino_genai.GenerationConfig(eos_token_id=eos_id, max_new_tokens=1)
        xml, weights = _serialized(_no_model(vocab_size))
        self._pipeline = openvino_genai.LLMPipeline(
            xml, weights, tokenizer, "CPU", defaults, ATTENTION_BACKEND="SDPA", INFERENCE_NUM_THREADS=1
        )
        self._eos_id = eos_id

    def problem(self, config: Any) -> str:
        """Why `config` cannot guide; "" when it can. Blocks without Python's lock."""
        trial = openvino_genai.GenerationConfig(
            eos_token_id=self._eos_id, max_new_tokens=1, structured_output_config=config
        )
        try:
            self._pipeline.generate(openvino.Tensor(np.array([[self._eos_id]], dtype=np.int64)), trial)
        except RuntimeError as error:
            return _reason(error)
        return ""


def _reason(error: RuntimeError) -> str:
    """What the grammar's parser said: without places in the library's sources, and without the client's text."""
    found = _PARSER_WORDS.search(str(error))
    return found[1].rstrip() if found else "is not a grammar this engine can follow"


def _serialized(model: Any) -> tuple[str, Any]:
    """As text and weights, through a folder: this version of the library writes to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        openvino.save_model(model, path, compress_to_fp16=False)
        weights = np.fromfile(path.with_suffix(".bin"), dtype=np.uint8)
        return path.read_text(encoding="utf-8"), openvino.Tensor(weights)


def _no_model(vocab_size: int) -> Any:
    """The smallest thing with the ports of a language model: every id is about as likely as any other."""
    ports = {
        name: ops.parameter(shape, kind)
        for name, shape, kind in (
            ("input_ids", [-1, -1], np.int64),
            ("attention_mask", [-1, -1], np.int64),
            ("position_ids", [-1, -1], np.int64),
            ("beam_idx", [-1], np.int32),
        )
    }
    for name, port in ports.items():
        port.set_friendly_name(name)
        port.output(0).get_tensor().set_names({name})
    ids, *others = ports.values()
    kept = [ops.reduce_sum(ops.convert(port, np.float32), ops.constant(_axes(port))) for port in others]
    mixed = ops.add(ops.convert(ops.unsqueeze(ids, ops.constant(np.int64(2))), np.float32), ops.add(kept[0], kept[1]))
    logits = ops.multiply(ops.add(mixed, kept[2]), ops.constant(np.full((1, 1, vocab_size), 1e-9, dtype=np.float32)))
    logits.output(0).get_tensor().set_names({"logits"})
    return openvino.Model([ops.result(logits)], list(ports.values()), "no_model")


def _axes(port: Any) -> Any:
    return np.arange(len(port.output(0).get_partial_shape()))
