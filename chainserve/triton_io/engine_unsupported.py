"""Inputs of `tensorrt_llm` that the CPU engine cannot honour: refused by name, unless they ask for nothing."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from chainserve.errors import InvalidInput
from chainserve.triton_io.tensors import Array

# input: the values that ask for nothing; () where any value asks for something.
_NEUTRAL: Final[Mapping[str, tuple[float, ...]]] = {
    "beam_width": (0, 1),
    "beam_search_diversity_rate": (0,),
    "len_penalty": (0, 1),
    "early_stopping": (0, 1),
    "runtime_top_p_min": (0,),
    "runtime_top_p_decay": (0, 1),
    "runtime_top_p_reset_ids": (-1,),
    "draft_acceptance_threshold": (0,),
    "embedding_bias": (0,),
    "lora_task_id": (0,),
    "return_context_logits": (0,),
    "return_generation_logits": (0,),
    **dict.fromkeys(
        (
            "draft_input_ids",
            "draft_logits",
            "decoder_input_ids",
            "lora_weights",
            "lora_config",
            "retention_token_range_starts",
            "retention_token_range_ends",
            "retention_token_range_priorities",
            "retention_token_range_durations_ms",
            "retention_decode_priority",
            "retention_decode_duration_ms",
            "lookahead_window_size",
            "lookahead_ngram_size",
            "lookahead_verification_set_size",
        ),
        (),
    ),
}


def refuse_unsupported(arrays: Mapping[str, Array]) -> None:
    """Raises: InvalidInput, naming the first input that asks for what this engine cannot do."""
    for name, neutral in _NEUTRAL.items():
        array = arrays.get(name)
        if array is not None and array.size and not np.isin(array, neutral).all():
            allowed = (
                f"only {' or '.join(f'{value:g}' for value in neutral)} is accepted" if neutral else "leave it out"
            )
            raise InvalidInput(name, f"the CPU engine cannot honour it: {allowed}")
