"""From the engine's increments to Triton responses.

Shapes are NVIDIA's: `output_ids` [1, beams, n], `sequence_length` [1, beams], one row and one beam a response.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from chainserve.engine.cpu.requests import Increment
from chainserve.triton_io.engine_inputs import EngineRow
from chainserve.triton_io.errors import error_response
from chainserve.triton_io.tensors import output

_FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
_ONE = (1, 1)


@dataclass
class Reply:
    """All answers to one Triton request. The last of them, or the first error, closes it; nothing follows."""

    sender: Any
    on_close: Callable[[], None]
    open_sequences: int = 1
    closed: bool = False
    begun: bool = False

    def send(self, response: Any, *, ends: bool) -> None:
        if self.closed:
            return
        self.open_sequences -= ends
        self._send(response, last=self.open_sequences == 0)

    def fail(self, error: Exception) -> None:
        """In the middle of a stream the error is not the last response: Triton 24.10 loses one that is on its way to a
        calling model, which then waits for ever. The empty last response behind it arrives, and says "not finished".
        """
        if self.closed:
            return
        if self.begun:
            self.sender.send(error_response(error))
            self.close_empty()
        else:
            self._send(error_response(error), last=True)

    def close_empty(self) -> None:
        self._send(pb_utils.InferenceResponse(output_tensors=[]), last=True)

    def gone(self) -> bool:
        return self.closed or bool(self.sender.is_cancelled())

    def _send(self, response: Any, *, last: bool) -> None:
        self.closed, self.begun = last, True
        if last:
            self.sender.send(response, flags=_FINAL)
            self.on_close()
        else:
            self.sender.send(response)


@dataclass
class SequenceAnswer:
    """The listener of one sequence: a response an increment when streaming, else one with everything.

    `indices` are the outputs that tell sequences of one request apart.
    """

    reply: Reply
    row: EngineRow
    indices: dict[str, int]
    _ids: list[int] = field(default_factory=list)
    _log_probs: list[float] = field(default_factory=list)
    _cum_log_prob: float = 0.0

    def receive(self, increment: Increment) -> None:
        ends = increment.finish is not None
        self._ids += increment.ids
        self._log_probs += increment.log_probs
        if ends or self.row.options.streaming:
            # Held until it is sent: the stub drops what was not requested without holding Python's lock.
            tensors = self._outputs(increment)
            self.reply.send(pb_utils.InferenceResponse(output_tensors=tensors), ends=ends)

    def fail(self, error: Exception) -> None:
        self.reply.fail(error)

    def gone(self) -> bool:
        return self.reply.gone()

    def _outputs(self, increment: Increment) -> list[Any]:
        ids, log_probs, self._ids, self._log_probs = self._ids, self._log_probs, [], []
        tensors = _ids_outputs(self._with_prompt(ids)) + [_int32(*index) for index in self.indices.items()]
        return tensors + self._log_prob_outputs(log_probs) + self._counts(len(ids)) + self._perf_outputs(increment)

    def _with_prompt(self, ids: list[int]) -> list[int]:
        options = self.row.options
        return ids if options.streaming or options.exclude_input else [*self.row.request.ids, *ids]

    def _log_prob_outputs(self, log_probs: list[float]) -> list[Any]:
        if not self.row.options.log_probs:
            return []
        self._cum_log_prob += sum(log_probs)
        return [
            output("cum_log_probs", "TYPE_FP32", self._cum_log_prob, _ONE),
            output("output_log_probs", "TYPE_FP32", log_probs, (1, 1, len(log_probs))),
        ]

    def _counts(self, new: int) -> list[Any]:
        options = self.row.options
        return [
            *([_int32("num_input_tokens", len(self.row.request.ids))] if options.num_input_tokens else []),
            *([_int32("num_output_tokens", new)] if options.num_output_tokens else []),
        ]

    def _perf_outputs(self, increment: Increment) -> list[Any]:
        if not self.row.options.perf_metrics or increment.finish is None:
            return []
        perf = increment.perf
        return [
            _int32("kv_cache_alloc_new_blocks", perf.new_blocks),
            _int32("kv_cache_reused_blocks", perf.reused_blocks),
            _int32("kv_cache_alloc_total_blocks", perf.total_blocks),
            _int64("arrival_time_ns", perf.arrival_ns),
            _int64("first_scheduled_time_ns", perf.first_scheduled_ns),
            _int64("first_token_time_ns", perf.first_token_ns),
            _int64("last_token_time_ns", perf.last_token_ns),
            output("acceptance_rate", "TYPE_FP32", 0.0, _ONE),
            _int32("total_accepted_draft_tokens", 0),
            _int32("total_draft_tokens", 0),
        ]


def _ids_outputs(ids: list[int]) -> list[Any]:
    array = np.array(ids, dtype=np.int32).reshape(1, 1, len(ids))
    return [pb_utils.Tensor("output_ids", array), _int32("sequence_length", len(ids))]


def _int32(name: str, number: int) -> Any:
    return pb_utils.Tensor(name, np.array([[number]], dtype=np.int32))


def _int64(name: str, number: int) -> Any:
    return pb_utils.Tensor(name, np.array([[number]], dtype=np.int64))
