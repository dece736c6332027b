"""What one sequence may ask of this engine. Fields are named as NVIDIA's `tensorrt_llm` model names its inputs."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.errors import InvalidInput

MAX_GUIDE_BYTES = 64 * 1024
MAX_WORDS = 256
PENALTY_LIMIT = 2.0
"""OpenVINO GenAI takes presence and frequency penalties in [-2, 2], as OpenAI's API does."""


@dataclass(frozen=True)
class Limits:
    vocab_size: int
    context_length: int

    def check(self, request: SequenceRequest) -> None:
        """Raises: InvalidInput, naming the input and the limit."""
        self._check_prompt(request.ids)
        self._check_lengths(len(request.ids), request.decoding)
        self._check_ids_of(request.decoding)
        _check_numbers(request.decoding)
        _check_guide(request.decoding)

    def _check_prompt(self, ids: tuple[int, ...]) -> None:
        if not ids:
            raise InvalidInput("input_ids", "must hold at least 1 id, got none")
        self._check_vocabulary("input_ids", ids)

    def _check_lengths(self, prompt: int, decoding: Decoding) -> None:
        if decoding.max_tokens < 1:
            raise InvalidInput("request_output_len", f"must be at least 1, got {decoding.max_tokens}")
        if prompt + decoding.max_tokens > self.context_length:
            raise InvalidInput(
                "request_output_len",
                f"prompt and output together take at most {self.context_length} tokens, "
                f"got {prompt} + {decoding.max_tokens}",
            )
        if not 0 <= decoding.min_tokens <= decoding.max_tokens:
            raise InvalidInput(
                "min_tokens", f"must be from 0 to request_output_len {decoding.max_tokens}, got {decoding.min_tokens}"
            )

    def _check_ids_of(self, decoding: Decoding) -> None:
        self._check_vocabulary("end_id", decoding.end_ids)
        self._check_vocabulary("stop_words_list", (number for word in decoding.stop_words for number in word))
        for field, words in (("stop_words_list", decoding.stop_words), ("bad_words_list", decoding.bad_words)):
            if len(words) > MAX_WORDS:
                raise InvalidInput(field, f"takes at most {MAX_WORDS} words, got {len(words)}")

    def _check_vocabulary(self, field: str, ids: Iterable[int]) -> None:
        if any(not 0 <= number < self.vocab_size for number in ids):
            raise InvalidInput(field, f"ids must be at least 0 and below the vocabulary size {self.vocab_size}")


def _check_numbers(decoding: Decoding) -> None:
    _in_range("temperature", decoding.temperature, above=0.0)
    _in_range("runtime_top_p", decoding.top_p, above=0.0, most=1.0)
    _in_range("repetition_penalty", decoding.repetition_penalty, above=0.0)
    _in_range("presence_penalty", decoding.presence_penalty, least=-PENALTY_LIMIT, most=PENALTY_LIMIT)
    _in_range("frequency_penalty", decoding.frequency_penalty, least=-PENALTY_LIMIT, most=PENALTY_LIMIT)
    if decoding.top_k < 0:
        raise InvalidInput("runtime_top_k", f"must be at least 0, got {decoding.top_k}")


def _in_range(
    field: str, number: float, *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf
) -> None:
    if not math.isfinite(number):
        raise InvalidInput(field, "must be a finite number")
    if number <= above:
        raise InvalidInput(field, f"must be above {above:g}, got {number:g}")
    if not least <= number <= most:
        raise InvalidInput(field, f"must be at most {most:g} and at least {max(least, above):g}, got {number:g}")


def _check_guide(decoding: Decoding) -> None:
    if decoding.guide is None:
        return
    if len(decoding.guide.text.encode()) > MAX_GUIDE_BYTES:
        raise InvalidInput("guided_decoding_guide", f"takes at most {MAX_GUIDE_BYTES} bytes")
    if decoding.bad_words:
        raise InvalidInput("bad_words_list", "cannot be combined with guided decoding on the CPU engine")
    if not decoding.end_ids:
        raise InvalidInput("end_id", "guided decoding needs one: it is how the answer ends")
