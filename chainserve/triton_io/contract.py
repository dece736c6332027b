"""Every tensor name, type and shape that the repository's models speak: the one place they are written.

Shapes are without the batch dimension, as in config.pbtxt: clients send `[1, *dims]`. The names of `tensorrt_llm`,
`preprocessing`, `postprocessing` and `ensemble` are NVIDIA's (TensorRT-LLM v1.2.1,
triton_backend/all_models/inflight_batcher_llm/*/config.pbtxt), less the encoder, multimodal and prompt-table ones.
A test compares this file with each config.pbtxt.
"""

from dataclasses import dataclass, replace

STRING, INT32, INT64, UINT64 = "TYPE_STRING", "TYPE_INT32", "TYPE_INT64", "TYPE_UINT64"
FP16, FP32, BOOL = "TYPE_FP16", "TYPE_FP32", "TYPE_BOOL"


@dataclass(frozen=True)
class Tensor:
    """`scalar` tensors are declared `dims: [1] reshape: {shape: []}`, as NVIDIA declares them."""

    name: str
    dtype: str
    dims: tuple[int, ...] = (1,)
    optional: bool = False
    scalar: bool = False


@dataclass(frozen=True)
class ModelContract:
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    decoupled: bool = False


def _optional(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple(replace(tensor, optional=True) for tensor in tensors)


def _scalars(dtype: str, *names: str) -> tuple[Tensor, ...]:
    return tuple(Tensor(name, dtype, scalar=True) for name in names)


def _singles(dtype: str, *names: str) -> tuple[Tensor, ...]:
    return tuple(Tensor(name, dtype) for name in names)


def _lists(dtype: str, *names: str) -> tuple[Tensor, ...]:
    return tuple(Tensor(name, dtype, (-1,)) for name in names)


_ENGINE_OUTPUTS = (
    *_lists(FP32, "cum_log_probs"),
    Tensor("output_log_probs", FP32, (-1, -1)),
    *_singles(INT32, "batch_index", "sequence_index"),
    *_singles(INT32, "kv_cache_alloc_new_blocks", "kv_cache_reused_blocks", "kv_cache_alloc_total_blocks"),
    *_singles(INT64, "arrival_time_ns", "first_scheduled_time_ns", "first_token_time_ns", "last_token_time_ns"),
    *_singles(FP32, "acceptance_rate"),
    *_singles(INT32, "total_accepted_draft_tokens", "total_draft_tokens"),
    *_singles(INT32, "num_input_tokens", "num_output_tokens"),
)

TENSORRT_LLM = ModelContract(
    inputs=(
        *_scalars(INT32, "input_lengths", "request_output_len"),
        *_optional(
            *_lists(INT32, "input_ids", "draft_input_ids", "decoder_input_ids"),
            Tensor("draft_logits", FP32, (-1, -1)),
            Tensor("stop_words_list", INT32, (2, -1)),
            Tensor("bad_words_list", INT32, (2, -1)),
            *_lists(FP32, "embedding_bias"),
            *_scalars(INT32, "num_return_sequences", "end_id", "pad_id", "beam_width", "min_tokens"),
            *_scalars(INT32, "runtime_top_k", "runtime_top_p_reset_ids"),
            *_scalars(FP32, "runtime_top_p", "runtime_top_p_min", "runtime_top_p_decay", "temperature"),
            *_scalars(FP32, "draft_acceptance_threshold", "len_penalty", "repetition_penalty", "presence_penalty"),
            *_scalars(FP32, "frequency_penalty", "beam_search_diversity_rate"),
            *_scalars(UINT64, "seed", "lora_task_id"),
            Tensor("lora_weights", FP16, (-1, -1)),
            Tensor("lora_config", INT32, (-1, 3)),
            *_scalars(BOOL, "early_stopping", "return_log_probs", "return_context_logits"),
            *_scalars(BOOL, "return_generation_logits", "return_perf_metrics", "return_num_input_tokens"),
            *_scalars(BOOL, "return_num_output_tokens", "exclude_input_in_output", "stop", "streaming"),
            *_lists(INT32, "retention_token_range_starts", "retention_token_range_ends"),
            *_lists(INT32, "retention_token_range_priorities", "retention_token_range_durations_ms"),
            *_singles(INT32, "retention_decode_priority", "retention_decode_duration_ms"),
            *_singles(STRING, "guided_decoding_guide_type", "guided_decoding_guide"),
            *_singles(INT32, "lookahead_window_size", "lookahead_ngram_size", "lookahead_verification_set_size"),
        ),
    ),
    outputs=(Tensor("output_ids", INT32, (-1, -1)), *_lists(INT32, "sequence_length"), *_ENGINE_OUTPUTS),
    decoupled=True,
)

PREPROCESSING = ModelContract(
    inputs=(
        *_singles(STRING, "QUERY"),
        *_singles(INT32, "REQUEST_OUTPUT_LEN"),
        *_optional(
            *_lists(STRING, "BAD_WORDS_DICT", "STOP_WORDS_DICT", "EMBEDDING_BIAS_WORDS"),
            *_lists(FP32, "EMBEDDING_BIAS_WEIGHTS"),
            *_singles(INT32, "END_ID", "PAD_ID"),
        ),
    ),
    outputs=(
        *_lists(INT32, "INPUT_ID"),
        *_singles(INT32, "REQUEST_INPUT_LEN"),
        Tensor("BAD_WORDS_IDS", INT32, (2, -1)),
        Tensor("STOP_WORDS_IDS", INT32, (2, -1)),
        *_lists(FP32, "EMBEDDING_BIAS"),
        *_lists(INT32, "REQUEST_OUTPUT_LEN"),
        *_singles(INT32, "OUT_END_ID", "OUT_PAD_ID"),
    ),
)

POSTPROCESSING = ModelContract(
    inputs=(Tensor("TOKENS_BATCH", INT32, (-1, -1)), *_lists(INT32, "SEQUENCE_LENGTH")),
    outputs=_lists(STRING, "OUTPUT"),
)

_SAMPLING_INPUTS = _optional(
    *_lists(STRING, "bad_words", "stop_words"),
    *_singles(INT32, "end_id", "pad_id", "top_k", "min_tokens", "beam_width"),
    *_singles(FP32, "top_p", "temperature", "length_penalty", "repetition_penalty"),
    *_singles(FP32, "presence_penalty", "frequency_penalty"),
    *_singles(UINT64, "seed"),
    *_singles(BOOL, "stream", "exclude_input_in_output", "return_log_probs", "return_perf_metrics"),
    *_singles(BOOL, "return_num_input_tokens", "return_num_output_tokens"),
    *_singles(STRING, "guided_decoding_guide_type", "guided_decoding_guide"),
)

ENSEMBLE = ModelContract(
    inputs=(
        *_singles(STRING, "text_input"),
        *_singles(INT32, "max_tokens"),
        *_SAMPLING_INPUTS,
        *_optional(
            *_singles(INT32, "num_return_sequences"),
            *_lists(STRING, "embedding_bias_words"),
            *_lists(FP32, "embedding_bias_weights"),
        ),
    ),
    outputs=(*_lists(STRING, "text_output"), *_ENGINE_OUTPUTS),
    decoupled=True,
)

# Who asks, in what session, and how long they can wait: the chain's own inputs.
_CALLER_INPUTS = _optional(*_singles(STRING, "messages", "user_id", "session_id", "tenant"))

_ANSWER_OUTPUTS = (
    *_singles(STRING, "text_output", "finish_reason"),
    *_singles(INT32, "num_input_tokens", "num_output_tokens"),
)

CHAIN = ModelContract(
    inputs=(
        *_optional(*_singles(STRING, "text_input"), *_singles(INT32, "max_tokens")),
        *_SAMPLING_INPUTS,
        *_CALLER_INPUTS,
        *_optional(*_singles(INT32, "timeout_ms"), *_singles(STRING, "priority")),
    ),
    outputs=(*_ANSWER_OUTPUTS, *_singles(STRING, "report")),
    decoupled=True,
)

# Static: what would change the shape of the answer is left out. It always counts tokens and never repeats the prompt.
CHAIN_ENSEMBLE = ModelContract(
    inputs=(
        *_singles(STRING, "text_input"),
        *_singles(INT32, "max_tokens"),
        *_optional(
            *_lists(STRING, "bad_words", "stop_words"),
            *_singles(INT32, "end_id", "pad_id", "top_k", "min_tokens", "beam_width"),
            *_singles(FP32, "top_p", "temperature", "length_penalty", "repetition_penalty"),
            *_singles(FP32, "presence_penalty", "frequency_penalty"),
            *_singles(UINT64, "seed"),
            *_singles(BOOL, "stream"),
            *_singles(STRING, "guided_decoding_guide_type", "guided_decoding_guide"),
        ),
        *_CALLER_INPUTS,
    ),
    outputs=(*_ANSWER_OUTPUTS, *_singles(STRING, "report")),
    decoupled=True,
)

INTENT = ModelContract(
    inputs=_singles(STRING, "text"),
    outputs=(*_singles(STRING, "intent", "route"), *_singles(FP32, "confidence")),
)

MODERATION = ModelContract(
    inputs=(*_singles(STRING, "text"), *_optional(*_singles(STRING, "role"))),
    outputs=(*_singles(BOOL, "flagged"), *_singles(STRING, "category"), *_lists(FP32, "scores")),
)

# `profile` is text, `history` a JSON list of {role, content}, `passages` one of {text, source, score}.
CONTEXT = ModelContract(
    inputs=(*_singles(STRING, "text"), *_optional(*_singles(STRING, "user_id", "session_id", "tenant"))),
    outputs=_singles(STRING, "profile", "history", "passages"),
)

# A `flagged` request is given a budget of one token: in a static ensemble the engine cannot be skipped.
PROMPT_ASSEMBLY = ModelContract(
    inputs=(
        *_singles(STRING, "text_input"),
        *_singles(INT32, "max_tokens"),
        *_optional(
            *_singles(STRING, "messages", "route", "profile", "history", "passages"),
            *_singles(BOOL, "flagged", "stream"),
        ),
    ),
    # Two constants for the steps of the ensemble behind it: `exclude_input_in_output` true, so that the prompt never
    # leaves, and `answer_role` assistant, the role in which the answer is moderated.
    outputs=(
        *_singles(STRING, "prompt"),
        *_singles(INT32, "request_output_len"),
        *_singles(BOOL, "exclude_input_in_output"),
        *_singles(STRING, "answer_role"),
    ),
)

# What the steps behind the engine have to know of the question.
CARRIED = (
    *_singles(STRING, "question", "intent", "route", "input_category", "answer_role"),
    *_singles(BOOL, "input_flagged"),
    *_singles(INT32, "input_lengths", "request_output_len"),
)

# The engine step of chain_ensemble. Triton lets a step behind a decoupled model take only what comes out of it (the
# responses of one are not matched with anything else), so what is known of the question goes through this one.
GENERATION = ModelContract(
    inputs=(
        *CARRIED,
        *_lists(INT32, "input_ids"),
        *_singles(BOOL, "exclude_input_in_output"),
        *_optional(
            Tensor("stop_words_list", INT32, (2, -1)),
            Tensor("bad_words_list", INT32, (2, -1)),
            *_singles(INT32, "end_id", "pad_id", "beam_width", "min_tokens", "runtime_top_k"),
            *_singles(FP32, "runtime_top_p", "temperature", "len_penalty", "repetition_penalty"),
            *_singles(FP32, "presence_penalty", "frequency_penalty"),
            *_singles(UINT64, "seed"),
            *_singles(STRING, "guided_decoding_guide_type", "guided_decoding_guide"),
        ),
    ),
    outputs=(Tensor("output_ids", INT32, (-1, -1)), *_lists(INT32, "sequence_length"), *CARRIED),
    decoupled=True,
)

# The last step of chain_ensemble: the text leaves only if both checks passed.
RELEASE = ModelContract(
    inputs=(
        *_singles(STRING, "question"),
        *_lists(STRING, "text"),
        *_singles(INT32, "request_output_len"),
        *_singles(BOOL, "input_flagged", "output_flagged"),
        *_singles(STRING, "input_category", "output_category", "intent", "route"),
        *_singles(INT32, "input_tokens"),
        *_lists(INT32, "output_tokens"),
    ),
    outputs=(*_ANSWER_OUTPUTS, *_singles(STRING, "report")),
)

CONTRACTS: dict[str, ModelContract] = {
    "chain": CHAIN,
    "chain_ensemble": CHAIN_ENSEMBLE,
    "context": CONTEXT,
    "ensemble": ENSEMBLE,
    "generation": GENERATION,
    "intent": INTENT,
    "moderation": MODERATION,
    "postprocessing": POSTPROCESSING,
    "preprocessing": PREPROCESSING,
    "prompt_assembly": PROMPT_ASSEMBLY,
    "release": RELEASE,
    "tensorrt_llm": TENSORRT_LLM,
}
