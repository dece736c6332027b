"""A small Triton: the gRPC service's streaming call, over a real socket, answered from the question's first word.

hello         three pieces, then the last response; one response where `stream` is false. So is any other word
counted       three responses, each with its own counts, as `ensemble` sends them
refuse CODE   ends the stream with that status code
message TEXT  an error message inside the stream, as Triton sends it before a model saw the request
broken        one piece, then the stream ends without a last response
endless       one piece, then nothing until the client cancels
nonsense TEXT a last response whose report is that text
together      a piece, and the next only when `meeting` many such streams are open
"""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import deserialize_bytes_tensor, serialize_byte_tensor, triton_to_np_dtype

REPORT = {
    "request_id": "r1",
    "stages": [
        {"name": "moderation", "start_ms": 0.1, "end_ms": 8.2, "outcome": "ok"},
        {"name": "engine", "start_ms": 8.4, "end_ms": 40.0, "outcome": "ok"},
    ],
    "total_ms": 41.0,
    "first_text_ms": 20.0,
    "verdict": {"flagged": False, "category": "", "source": "moderation"},
    "finish_reason": "stop",
}
PIECES = ["Paris ", "是", "法国的首都 🗼"]


@dataclass
class FakeTriton(service_pb2_grpc.GRPCInferenceServiceServicer):
    meeting: threading.Barrier = field(default_factory=lambda: threading.Barrier(8, timeout=30))
    seen: list[dict[str, Any]] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)
    peers: set[str] = field(default_factory=set)
    cancelled: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def ModelStreamInfer(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802 Triton's name
        self.metadata.append(dict(context.invocation_metadata()))
        self.peers.add(context.peer())
        for request in request_iterator:
            inputs = read_inputs(request)
            self.seen.append(inputs)
            text = inputs.get("text_input", ["hello"])[0]
            word, _, rest = text.partition(" ")
            yield from getattr(self, word, self.hello)(rest, inputs, context)

    def hello(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        if not inputs["stream"][0]:
            yield last("".join(PIECES))
            return
        yield from (piece(text) for text in PIECES)
        yield last("")

    def counted(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        counts = {"num_input_tokens": 7, "num_output_tokens": 1}
        yield from (response({"text_output": text, **counts}, final=text == "c") for text in "abc")

    def refuse(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        code, _, details = rest.partition(" ")
        yield piece("half ")
        context.abort(grpc.StatusCode[code], details)

    def message(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        yield service_pb2.ModelStreamInferResponse(error_message=rest)

    def broken(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        yield piece("half ")

    def nonsense(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        yield response({"text_output": "", "report": rest}, final=True)

    def endless(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        context.add_callback(self.cancelled.set)  # gRPC may not come back here once the client has gone
        yield piece("once ")
        self.cancelled.wait(30)

    def together(self, rest: str, inputs: dict[str, Any], context: Any) -> Iterator[Any]:
        yield piece(f"{rest} ")
        self.meeting.wait()
        yield piece("met")
        yield last("")


def read_inputs(request: Any) -> dict[str, Any]:
    """Input name to its flat list of values."""
    inputs = {}
    for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True):
        if tensor.datatype == "BYTES":
            inputs[tensor.name] = [item.decode() for item in deserialize_bytes_tensor(raw)]
        else:
            inputs[tensor.name] = np.frombuffer(raw, dtype=triton_to_np_dtype(tensor.datatype)).tolist()
        assert list(tensor.shape) == [1, len(inputs[tensor.name])]
    return inputs


def piece(text: str) -> Any:
    return response({"text_output": text, "finish_reason": "", "report": ""}, final=False)


def last(text: str) -> Any:
    outputs = {"text_output": text, "finish_reason": "stop", "num_input_tokens": 7, "num_output_tokens": 5}
    return response({**outputs, "report": json.dumps(REPORT)}, final=True)


def response(outputs: dict[str, str | int], *, final: bool) -> Any:
    message = service_pb2.ModelStreamInferResponse()
    message.infer_response.parameters["triton_final_response"].bool_param = final
    for name, value in outputs.items():
        datatype = "BYTES" if isinstance(value, str) else "INT32"
        message.infer_response.outputs.add(name=name, datatype=datatype, shape=[1, 1])
        message.infer_response.raw_output_contents.append(_raw(value))
    return message


def _raw(value: str | int) -> bytes:
    if isinstance(value, int):
        return np.array([value], np.int32).tobytes()
    return serialize_byte_tensor(np.array([value.encode()], dtype=np.object_)).item()


@contextmanager
def fake_triton() -> Iterator[FakeTriton]:
    fake = FakeTriton()
    server = grpc.server(ThreadPoolExecutor(16))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(fake, server)
    fake.url = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield fake
    finally:
        server.stop(0).wait()
