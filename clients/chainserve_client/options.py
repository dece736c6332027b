"""What a caller may ask of the chain, by the names of the chain's inputs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Question = str | Sequence[Mapping[str, Any]]
"""One question, or messages `{"role": ..., "content": ...}` as OpenAI writes them, oldest first."""


def _input(datatype: str) -> Any:
    return field(default=None, metadata={"datatype": datatype})


@dataclass(frozen=True, kw_only=True)
class ChainOptions:
    """Every input of the chain but the question and `stream`. None is not sent: the server's own default holds.

    The limits are the server's: a value outside of them is answered with InvalidRequest, which names it.
    """

    max_tokens: int | None = _input("INT32")
    min_tokens: int | None = _input("INT32")
    temperature: float | None = _input("FP32")
    top_k: int | None = _input("INT32")
    top_p: float | None = _input("FP32")
    seed: int | None = _input("UINT64")
    repetition_penalty: float | None = _input("FP32")
    presence_penalty: float | None = _input("FP32")
    frequency_penalty: float | None = _input("FP32")
    length_penalty: float | None = _input("FP32")
    beam_width: int | None = _input("INT32")
    end_id: int | None = _input("INT32")
    pad_id: int | None = _input("INT32")
    stop_words: Sequence[str] | None = _input("BYTES")
    bad_words: Sequence[str] | None = _input("BYTES")
    exclude_input_in_output: bool | None = _input("BOOL")
    return_log_probs: bool | None = _input("BOOL")
    return_perf_metrics: bool | None = _input("BOOL")
    return_num_input_tokens: bool | None = _input("BOOL")
    return_num_output_tokens: bool | None = _input("BOOL")
    guided_decoding_guide_type: Literal["json", "json_schema", "regex", "ebnf_grammar"] | None = _input("BYTES")
    guided_decoding_guide: str | None = _input("BYTES")
    user_id: str | None = _input("BYTES")
    session_id: str | None = _input("BYTES")
    tenant: str | None = _input("BYTES")
    timeout_ms: int | None = _input("INT32")
    priority: Literal["interactive", "batch"] | None = _input("BYTES")

    def tensors(self) -> Iterator[tuple[str, str, Any]]:
        """(name, Triton datatype, value) of every option that was given; an empty list of words is none."""
        for option in fields(self):
            value = getattr(self, option.name)
            if value is not None and value not in ((), []):
                yield option.name, option.metadata["datatype"], value


NO_OPTIONS = ChainOptions()
