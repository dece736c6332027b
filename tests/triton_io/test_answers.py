import json
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.messages import AnswerChunk, FinishReason, Usage
from chainserve.triton_io.answers import AnswerSender
from chainserve.triton_io.service import RequestSender

LAST = AnswerChunk("", FinishReason.STOP, Usage(3, 4), {"total_ms": 1.5})


def values(response: Any) -> dict[str, Any]:
    return {tensor.name(): tensor.as_numpy().reshape(-1)[0] for tensor in response.output_tensors}


def send(*chunks: AnswerChunk, stream: bool) -> pb_utils.ResponseSender:
    sender = pb_utils.ResponseSender()
    answer = AnswerSender(RequestSender(sender), stream=stream)
    for chunk in chunks:
        answer.emit(chunk)
    return sender


def test_streamed_pieces_leave_at_once_and_the_last_has_everything_else() -> None:
    sender = send(AnswerChunk("你"), AnswerChunk("好"), LAST, stream=True)
    assert [values(r).get("text_output") for r in sender.sent] == ["你".encode(), "好".encode(), b""]
    last = values(sender.sent[-1])
    assert (last["finish_reason"], last["num_input_tokens"], last["num_output_tokens"]) == (b"stop", 3, 4)
    assert json.loads(last["report"]) == {"total_ms": 1.5}
    assert sender.closed


def test_unstreamed_is_one_response() -> None:
    sender = send(AnswerChunk("你"), AnswerChunk("好"), LAST, stream=False)
    assert [values(r)["text_output"] for r in sender.sent] == ["你好".encode()]
