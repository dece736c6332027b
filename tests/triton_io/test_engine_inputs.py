from typing import Any

import numpy as np
import pytest
from triton_python_backend_utils import Request

from chainserve.engine.word_lists import pack
from chainserve.errors import InvalidInput
from chainserve.messages import Guide
from chainserve.triton_io.contract import TENSORRT_LLM
from chainserve.triton_io.engine_inputs import EngineRow, OutputOptions, asks_to_stop, engine_rows
from chainserve.triton_io.tensors import TRITON_TO_NUMPY, RequestTensors

DTYPES = {tensor.name: TRITON_TO_NUMPY[tensor.dtype] for tensor in TENSORRT_LLM.inputs}
GOOD: dict[str, Any] = {"input_ids": [[1, 2, 3]], "input_lengths": [[3]], "request_output_len": [[8]]}
UTF8_HALF = 6


class FewTokens:
    """As much of a tokenizer as the inputs need."""

    vocab_size = 7
    eos_ids = (2, 0)

    def token_bytes(self, token_id: int) -> bytes:
        return [b"", b"a", b"", b"bad", b" word", "好".encode(), "好".encode()[:2]][token_id]


def tensors(**inputs: Any) -> RequestTensors:
    sent = {name: np.array(value, dtype=DTYPES[name]) for name, value in inputs.items() if value is not None}
    return RequestTensors(Request(sent))


def rows(**inputs: Any) -> list[EngineRow]:
    return engine_rows(tensors(**GOOD | inputs), FewTokens())  # type: ignore[arg-type]


def decoding(**inputs: Any) -> Any:
    (row,) = rows(**inputs)
    return row.request.decoding


def test_defaults_are_greedy_to_the_engines_end_ids() -> None:
    (row,) = rows()
    assert (row.request.ids, row.num_sequences, row.options) == ((1, 2, 3), 1, OutputOptions())
    chosen = row.request.decoding
    assert (chosen.max_tokens, chosen.end_ids, chosen.sampled, chosen.seed) == (8, (2, 0), False, 0)


@pytest.mark.parametrize(
    ("inputs", "sampled"),
    [
        ({"temperature": [[0.7]]}, False),
        ({"runtime_top_k": [[1]], "runtime_top_p": [[0.5]]}, False),
        ({"runtime_top_k": [[0]], "runtime_top_p": [[0.0]]}, False),
        ({"runtime_top_k": [[5]], "temperature": [[0.0]]}, False),
        ({"runtime_top_k": [[5]]}, True),
        ({"runtime_top_p": [[0.9]]}, True),
        ({"runtime_top_p": [[1.0]], "temperature": [[1.5]]}, True),
    ],
)
def test_top_k_and_top_p_turn_sampling_on(inputs: dict[str, Any], sampled: bool) -> None:
    assert decoding(**inputs).sampled is sampled


def test_rows_are_cut_to_their_lengths() -> None:
    first, second = rows(
        input_ids=[[1, 2, 3], [4, 0, 0]], input_lengths=[[3], [1]], request_output_len=[[8], [9]], seed=[[5], [6]]
    )
    assert (first.request.ids, second.request.ids) == ((1, 2, 3), (4,))
    assert (second.request.decoding.max_tokens, second.request.decoding.seed) == (9, 6)


def test_end_id() -> None:
    assert decoding(end_id=[[4]]).end_ids == (4,)
    assert decoding(end_id=[[-1]]).end_ids == ()


def test_words() -> None:
    stop = decoding(stop_words_list=[pack([(1, 2), (3,)], width=5)])
    assert stop.stop_words == ((1, 2), (3,))
    bad = decoding(bad_words_list=[pack([(3, 4), (5,), (3, 4)])])
    assert bad.bad_words == ("bad word", "好")


@pytest.mark.parametrize("word", [(UTF8_HALF,), (2,), (99,), (-5,)])
def test_a_bad_word_must_be_text(word: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="bad_words_list"):
        decoding(bad_words_list=[pack([word])])


def test_guides() -> None:
    kind, text = "guided_decoding_guide_type", "guided_decoding_guide"
    assert decoding(**{kind: [[b"json"]]}).guide == Guide("json")
    assert decoding(**{kind: [[b"regex"]], text: [["[一-龥]+".encode()]]}).guide == Guide("regex", "[一-龥]+")
    assert decoding(**{kind: [[b""]], text: [[b""]]}).guide is None
    for bad in ({kind: [[b"xml"]]}, {kind: [[b"regex"]]}, {text: [[b"a"]]}, {kind: [[b"\xff"]]}):
        with pytest.raises(InvalidInput, match="guided_decoding_guide"):
            decoding(**bad)


def test_options() -> None:
    (row,) = rows(
        streaming=[[True]],
        exclude_input_in_output=[[True]],
        return_log_probs=[[True]],
        return_num_input_tokens=[[True]],
        return_num_output_tokens=[[True]],
        return_perf_metrics=[[True]],
    )
    assert row.options == OutputOptions(*[True] * 6)
    assert row.request.decoding.log_probs


NEUTRAL: list[dict[str, Any]] = [
    {"beam_width": [[1]]},
    {"len_penalty": [[1.0]]},
    {"len_penalty": [[0.0]]},
    {"early_stopping": [[False]]},
    {"return_context_logits": [[False]]},
    {"runtime_top_p_min": [[0.0]]},
    {"runtime_top_p_decay": [[1.0]]},
    {"embedding_bias": [[]]},
    {"embedding_bias": [[0.0, 0.0]]},
    {"draft_input_ids": [[]]},
    {"pad_id": [[0]]},
    {"num_return_sequences": [[3]]},
]


@pytest.mark.parametrize("inputs", NEUTRAL, ids=str)
def test_what_asks_for_nothing_is_accepted(inputs: dict[str, Any]) -> None:
    assert rows(**inputs)


REFUSED: list[dict[str, Any]] = [
    {"beam_width": [[2]]},
    {"len_penalty": [[0.5]]},
    {"beam_search_diversity_rate": [[0.1]]},
    {"return_context_logits": [[True]]},
    {"return_generation_logits": [[True]]},
    {"runtime_top_p_min": [[0.1]]},
    {"runtime_top_p_decay": [[0.9]]},
    {"runtime_top_p_reset_ids": [[3]]},
    {"draft_input_ids": [[1]]},
    {"draft_logits": [[[1.0]]]},
    {"draft_acceptance_threshold": [[0.5]]},
    {"decoder_input_ids": [[1]]},
    {"embedding_bias": [[0.0, 1.0]]},
    {"embedding_bias": [[float("nan")]]},
    {"lora_task_id": [[7]]},
    {"lora_weights": [[[1.0]]]},
    {"lora_config": [[[1, 2, 3]]]},
    {"retention_token_range_starts": [[0]]},
    {"retention_token_range_ends": [[0]]},
    {"retention_token_range_priorities": [[0]]},
    {"retention_token_range_durations_ms": [[0]]},
    {"retention_decode_priority": [[0]]},
    {"retention_decode_duration_ms": [[0]]},
    {"lookahead_window_size": [[1]]},
    {"lookahead_ngram_size": [[1]]},
    {"lookahead_verification_set_size": [[1]]},
    {"input_ids": None},
    {"input_lengths": [[4]]},
    {"input_lengths": [[-1]]},
    {"num_return_sequences": [[0]]},
    {"num_return_sequences": [[65]]},
    {"stop_words_list": [[[1, 2], [3, -1]]]},
]


@pytest.mark.parametrize("inputs", REFUSED, ids=str)
def test_what_cannot_be_honoured_is_refused_by_name(inputs: dict[str, Any]) -> None:
    (name,) = inputs
    with pytest.raises(InvalidInput) as caught:
        rows(**inputs)
    assert caught.value.field == name


def test_stop() -> None:
    assert not asks_to_stop(tensors(**GOOD))
    assert not asks_to_stop(tensors(**GOOD, stop=[[False]]))
    assert asks_to_stop(tensors(**GOOD, stop=[[True]]))
