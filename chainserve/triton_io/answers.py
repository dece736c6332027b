"""From the chain's chunks to Triton responses."""

import json
import threading
from dataclasses import dataclass, field
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.messages import AnswerChunk, FinishReason, Usage
from chainserve.triton_io.errors import error_response
from chainserve.triton_io.tensors import output

_FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
_ROW = (1, 1)


@dataclass(eq=False)
class AnswerSender:
    """Sends one answer: a response a chunk when streaming, else one response with the whole text.

    Every way to finish closes the request exactly once. A closed request must not be asked for its cancellation:
    Triton has freed what it would look at, and dies. The lock keeps the two apart.
    """

    sender: Any
    stream: bool = False
    _text: list[str] = field(default_factory=list)
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def emit(self, chunk: AnswerChunk) -> None:
        if chunk.finish_reason is not None:
            self._close(pb_utils.InferenceResponse(output_tensors=self._last(chunk, chunk.finish_reason)))
        elif self.stream:
            self.sender.send(pb_utils.InferenceResponse(output_tensors=[_text(chunk.text)]))
        else:
            self._text.append(chunk.text)

    def fail(self, error: BaseException) -> None:
        self._close(error_response(error))

    def gone(self) -> bool:
        """Whether the client left an open request; from any thread."""
        with self._lock:
            return not self._closed and bool(self.sender.is_cancelled())

    def _close(self, response: Any) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self.sender.send(response, flags=_FINAL)

    def _last(self, chunk: AnswerChunk, finish: FinishReason) -> list[Any]:
        return answer_tensors("".join(self._text) + chunk.text, finish, chunk.usage or Usage(), chunk.report)


def answer_tensors(text: str, finish: FinishReason, usage: Usage, report: dict[str, object]) -> list[Any]:
    """The outputs of a whole or last response, one row."""
    return [
        _text(text),
        output("finish_reason", "TYPE_STRING", finish.value, _ROW),
        output("num_input_tokens", "TYPE_INT32", usage.input, _ROW),
        output("num_output_tokens", "TYPE_INT32", usage.output, _ROW),
        output("report", "TYPE_STRING", json.dumps(report, ensure_ascii=False), _ROW),
    ]


def _text(text: str) -> Any:
    return output("text_output", "TYPE_STRING", text, _ROW)
