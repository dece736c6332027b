"""From the chain's chunks to Triton responses."""

import json
from dataclasses import dataclass, field
from typing import Any

from chainserve.messages import AnswerChunk, FinishReason, Usage
from chainserve.triton_io.service import RequestSender
from chainserve.triton_io.tensors import output

_ROW = (1, 1)


@dataclass
class AnswerSender:
    """Sends one answer: a response a chunk when streaming, else one response with the whole text."""

    sender: RequestSender
    stream: bool
    _text: list[str] = field(default_factory=list)

    def emit(self, chunk: AnswerChunk) -> None:
        if chunk.finish_reason is not None:
            text = "".join(self._text) + chunk.text
            self.sender.close(answer_tensors(text, chunk.finish_reason, chunk.usage or Usage(), chunk.report))
        elif self.stream:
            self.sender.send([_text(chunk.text)])
        else:
            self._text.append(chunk.text)


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
