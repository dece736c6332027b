"""Questions and options into Triton's request message, and Triton's responses into pieces of an answer."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from tritonclient.grpc import InferInput, InferResult, service_pb2

from chainserve_client.answer import Report, Usage
from chainserve_client.errors import InvalidRequest, ServerFailed, from_message
from chainserve_client.options import ChainOptions, Question

_INPUTS = frozenset({"text_input", "messages", "stream", *(option.name for option in fields(ChainOptions))})

_NUMPY: dict[str, Any] = {
    "BOOL": np.bool_,
    "BYTES": np.object_,
    "FP32": np.float32,
    "INT32": np.int32,
    "UINT64": np.uint64,
}
_KINDS: dict[str, tuple[type, ...]] = {
    "BOOL": (bool,),
    "BYTES": (str,),
    "FP32": (int, float),
    "INT32": (int,),
    "UINT64": (int,),
}
# numpy wraps a number that does not fit, with no more than a warning.
_LIMITS: dict[str, Any] = {"INT32": np.iinfo(np.int32), "UINT64": np.iinfo(np.uint64)}
# A static ensemble moderates `text_input` whatever else is sent; the chain takes one of the two.
_WANTS_TEXT_WITH_MESSAGES = frozenset({"chain_ensemble"})


@dataclass(frozen=True)
class Piece:
    """One response. `final` says that nothing follows; what it leaves open is "" or None."""

    text: str
    finish_reason: str
    usage: Usage | None
    report: Report | None
    final: bool


def build_request(model: str, question: Question, options: ChainOptions, *, stream: bool) -> Any:
    """The ModelInferRequest, with a fresh request id. Raises InvalidRequest naming the option that does not fit."""
    request = service_pb2.ModelInferRequest(model_name=model, id=uuid.uuid4().hex)
    # A model may close its stream without a last response: Triton then sends an empty one.
    request.parameters["triton_enable_empty_final_response"].bool_param = True
    for name, text in _question_texts(model, question).items():
        _add(request, name, "BYTES", text)
    _add(request, "stream", "BOOL", stream)
    for name, datatype, value in options.tensors():
        _add(request, name, datatype, value)
    return request


def _question_texts(model: str, question: Question) -> dict[str, str]:
    if isinstance(question, str):
        return {"text_input": question}
    texts = {"messages": _as_json(question)}
    if model in _WANTS_TEXT_WITH_MESSAGES:
        asked = (message.get("content") for message in reversed(question) if message.get("role") == "user")
        texts["text_input"] = str(next(asked, ""))
    return texts


def _as_json(messages: Any) -> str:
    if not all(isinstance(message, Mapping) for message in messages):
        raise InvalidRequest("messages: every message must be a mapping of role and content")
    try:
        return json.dumps([dict(message) for message in messages], ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidRequest("messages: hold something that is not JSON") from error


def _add(request: Any, name: str, datatype: str, value: Any) -> None:
    array = _array(name, datatype, value)
    tensor = InferInput(name, list(array.shape), datatype).set_data_from_numpy(array)
    # tritonclient keeps a tensor's message and bytes private; a request without its client needs both.
    request.inputs.append(tensor._get_tensor())  # noqa: SLF001
    request.raw_input_contents.append(tensor._get_content())  # noqa: SLF001


def _array(name: str, datatype: str, value: Any) -> Any:
    """Shape [1, n]: the batch dimension, then the values."""
    values = list(value) if isinstance(value, list | tuple) else [value]
    return np.array([[_encoded(name, datatype, item) for item in values]], dtype=_NUMPY[datatype])


def _encoded(name: str, datatype: str, item: Any) -> Any:
    # bool is an int to Python, not to the server
    if not isinstance(item, _KINDS[datatype]) or (isinstance(item, bool) and datatype != "BOOL"):
        wanted = " or ".join(kind.__name__ for kind in _KINDS[datatype])
        raise InvalidRequest(f"{name}: takes {wanted}, got {type(item).__name__}")
    if datatype in _LIMITS and not _LIMITS[datatype].min <= item <= _LIMITS[datatype].max:
        raise InvalidRequest(f"{name}: does not fit {datatype}")
    return _utf8(name, item) if isinstance(item, str) else item


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{name}: holds half a surrogate pair, which is not text") from error


def read_response(response: Any) -> Piece:
    """A ModelStreamInferResponse as a piece. Raises the ChainClientError that it carries."""
    parameters = response.infer_response.parameters
    if response.error_message:
        raise from_message(response.error_message, by_model="triton_final_response" in parameters, inputs=_INPUTS)
    result = InferResult(response.infer_response)
    report = _text(result, "report")
    return Piece(
        text=_text(result, "text_output"),
        finish_reason=_text(result, "finish_reason"),
        usage=_usage(result),
        report=Report.from_json(report) if report else None,
        # Only decoupled models are marked; any other answers once.
        final="triton_final_response" not in parameters or parameters["triton_final_response"].bool_param,
    )


def _usage(result: Any) -> Usage | None:
    counts = [_first(result, name) for name in ("num_input_tokens", "num_output_tokens")]
    return None if None in counts else Usage(*(int(count) for count in counts))


def _text(result: Any, name: str) -> str:
    value = _first(result, name)
    try:
        return "" if value is None else bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ServerFailed(f"the server sent {name} that is not UTF-8 text") from error


def _first(result: Any, name: str) -> Any:
    array = result.as_numpy(name)
    return None if array is None or array.size == 0 else array.reshape(-1)[0]
