"""`postprocessing`: the engine's token ids to text. NVIDIA's names and contract.

It keeps nothing between requests. An increment's text is its tokens' bytes as they are, so no leading space is lost;
that a streamed increment ends with a whole character is for the engine to see to, and the CPU engine does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainserve.engine.manifest import EngineManifest
from chainserve.errors import InvalidInput
from chainserve.tokenizer import StreamDecoder, Tokenizer
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.contract import STRING
from chainserve.triton_io.environment import engine_dir
from chainserve.triton_io.tensors import Array, RequestTensors, output, required


@dataclass(frozen=True)
class Detokenizer:
    """`whole`: every increment ends with a whole character, so what is left over was cut by the token limit."""

    tokenizer: Tokenizer
    whole: bool

    def text(self, ids: Sequence[int]) -> str:
        """Special tokens give nothing. A cut character is dropped if `whole`, else it becomes U+FFFD."""
        return StreamDecoder(self.tokenizer).push(ids) if self.whole else self.tokenizer.decode(ids)


class PostprocessingModel:
    def initialize(self, args: dict[str, Any]) -> None:
        folder = engine_dir(args)
        whole = EngineManifest.load(folder).profile == "cpu"
        self._detokenizer = Detokenizer(Tokenizer.load(folder), whole)

    def execute(self, requests: list[Any]) -> list[Any]:
        return run_batch(requests, self._decode, list, encode_rows)

    def _decode(self, tensors: RequestTensors) -> list[list[str]]:
        # Here, so that ids outside the vocabulary fail their own request alone.
        return [[self._detokenizer.text(ids) for ids in beams] for beams in read_beams(tensors)]


def read_beams(tensors: RequestTensors) -> list[list[list[int]]]:
    """Ids by row and beam, without the padding."""
    tokens, lengths = required(tensors.array("TOKENS_BATCH")), required(tensors.array("SEQUENCE_LENGTH"))
    if tokens.shape[:2] != lengths.shape:
        raise InvalidInput("SEQUENCE_LENGTH", f"must have shape {list(tokens.shape[:2])}, got {list(lengths.shape)}")
    pairs = zip(tokens, lengths, strict=True)
    return [[_ids(beam, length) for beam, length in zip(*row, strict=True)] for row in pairs]


def _ids(beam: Array, length: np.int32) -> list[int]:
    if length < 0:
        raise InvalidInput("SEQUENCE_LENGTH", "must not be negative")
    return [number for number in beam[:length].tolist() if number >= 0]


def encode_rows(rows: Sequence[list[str]]) -> list[Any]:
    return [output("OUTPUT", STRING, rows, (len(rows), len(rows[0])))]
