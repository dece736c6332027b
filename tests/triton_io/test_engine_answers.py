from typing import Any

import numpy as np
from triton_python_backend_utils import InferenceResponse, ResponseSender

from chainserve.engine.cpu.requests import Decoding, Increment, SequencePerf, SequenceRequest
from chainserve.errors import EngineDead
from chainserve.messages import FinishReason
from chainserve.triton_io.engine_answers import Reply, SequenceAnswer
from chainserve.triton_io.engine_inputs import EngineRow, OutputOptions

REQUEST = SequenceRequest((1, 2), Decoding(max_tokens=8, end_ids=()))
LAST = Increment((6,), (-0.25,), FinishReason.STOP, SequencePerf(10, 20, 30, 40, new_blocks=2, reused_blocks=3))


class Talk:
    """An answer, what was sent, and how often its reply was closed."""

    def __init__(self, sequences: int = 1, **options: bool) -> None:
        self.sender, self.closes = ResponseSender(), 0
        self.reply = Reply(self.sender, self._close, sequences)
        self.row = EngineRow(REQUEST, OutputOptions(**options), sequences)
        self.answer = SequenceAnswer(self.reply, self.row, {})

    def _close(self) -> None:
        self.closes += 1

    @property
    def sent(self) -> list[dict[str, list[Any]]]:
        return [values(response) for response in self.sender.sent]


def values(response: InferenceResponse) -> dict[str, list[Any]]:
    return {tensor.name(): tensor.as_numpy().tolist() for tensor in response.output_tensors}


def test_streaming_sends_every_increment_and_closes_with_the_last() -> None:
    talk = Talk(streaming=True)
    talk.answer.receive(Increment((5,)))
    assert not talk.sender.closed
    talk.answer.receive(LAST)
    assert [each["output_ids"] for each in talk.sent] == [[[[5]]], [[[6]]]]
    assert [each["sequence_length"] for each in talk.sent] == [[[1]], [[1]]]
    assert (talk.sender.closed, talk.closes) == (True, 1)


def test_without_streaming_there_is_one_answer_with_the_prompt() -> None:
    talk = Talk()
    talk.answer.receive(Increment((5,)))
    talk.answer.receive(LAST)
    assert talk.sent == [{"output_ids": [[[1, 2, 5, 6]]], "sequence_length": [[4]]}]


def test_the_prompt_can_be_left_out() -> None:
    talk = Talk(exclude_input=True)
    talk.answer.receive(LAST)
    assert talk.sent[0]["output_ids"] == [[[6]]]


def test_an_answer_may_be_empty() -> None:
    talk = Talk(exclude_input=True, log_probs=True)
    talk.answer.receive(Increment((), finish=FinishReason.CANCELLED))
    assert (talk.sent[0]["output_ids"], talk.sent[0]["sequence_length"]) == ([[[]]], [[0]])
    assert talk.sent[0]["output_log_probs"] == [[[]]]


def test_log_probs_counts_and_figures() -> None:
    talk = Talk(streaming=True, log_probs=True, num_input_tokens=True, num_output_tokens=True, perf_metrics=True)
    talk.answer.receive(Increment((5, 7), (-0.5, -1.0)))
    talk.answer.receive(LAST)
    first, last = talk.sent
    assert (first["output_log_probs"], last["output_log_probs"]) == ([[[-0.5, -1.0]]], [[[-0.25]]])
    assert (first["cum_log_probs"], last["cum_log_probs"]) == ([[-1.5]], [[-1.75]])
    assert [each["num_input_tokens"] for each in talk.sent] == [[[2]], [[2]]]
    assert [each["num_output_tokens"] for each in talk.sent] == [[[2]], [[1]]]
    assert "arrival_time_ns" not in first
    times = ("arrival_time_ns", "first_scheduled_time_ns", "first_token_time_ns", "last_token_time_ns")
    assert [last[name] for name in times] == [[[10]], [[20]], [[30]], [[40]]]
    blocks = ("kv_cache_alloc_new_blocks", "kv_cache_reused_blocks", "kv_cache_alloc_total_blocks")
    assert [last[name] for name in blocks] == [[[2]], [[3]], [[5]]]


def test_indices_tell_sequences_apart_and_the_last_one_closes() -> None:
    talk = Talk(sequences=2)
    answers = [SequenceAnswer(talk.reply, talk.row, {"sequence_index": number}) for number in range(2)]
    answers[1].receive(LAST)
    assert not talk.sender.closed
    answers[0].receive(LAST)
    assert [each["sequence_index"] for each in talk.sent] == [[[1]], [[0]]]
    assert (talk.sender.closed, talk.closes) == (True, 1)


def test_an_error_closes_and_nothing_follows() -> None:
    talk = Talk(sequences=2)
    talk.answer.fail(EngineDead("its process ended"))
    talk.answer.fail(EngineDead("its process ended"))
    talk.answer.receive(LAST)
    assert [response.has_error() for response in talk.sender.sent] == [True]
    assert (talk.sender.closed, talk.closes) == (True, 1)


def test_a_closed_request_is_never_asked_for_its_cancellation() -> None:
    talk = Talk()
    talk.sender.cancelled = True
    assert talk.answer.gone()
    talk.answer.receive(LAST)
    del talk.sender.cancelled
    assert talk.answer.gone()


def test_dtypes() -> None:
    talk = Talk(streaming=True, log_probs=True, perf_metrics=True)
    talk.answer.receive(LAST)
    kinds = {tensor.name(): tensor.as_numpy().dtype for tensor in talk.sender.sent[0].output_tensors}
    assert (kinds["output_ids"], kinds["output_log_probs"], kinds["arrival_time_ns"]) == (
        np.int32,
        np.float32,
        np.int64,
    )
