"""SIGTERM while the real engine and the real chain stream: what was promised is delivered."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
from running_server import Server
from tritonclient.utils import InferenceServerException

pytestmark = pytest.mark.server

TOKENS = 120
ENGINE_REQUEST = {
    "input_ids": np.array([[504, 3575, 282, 4649, 314]], np.int32),
    "input_lengths": np.array([[5]], np.int32),
    "request_output_len": np.array([[TOKENS]], np.int32),
    "min_tokens": np.array([[TOKENS]], np.int32),
    "streaming": np.array([[True]]),
}
CHAIN_REQUEST = {
    "text_input": np.array([[b"Tell me a long story about a lighthouse."]], np.object_),
    "max_tokens": np.array([[TOKENS]], np.int32),
    "min_tokens": np.array([[TOKENS]], np.int32),
    "stream": np.array([[True]]),
}
TYPES = {"int32": "INT32", "bool": "BOOL", "object": "BYTES"}


class Stream:
    def __init__(self, client: Any) -> None:
        self._client, self._events = client, Queue[Any]()
        client.start_stream(lambda result, error: self._events.put(error or result))

    def ask(self, model: str, tensors: dict[str, np.ndarray]) -> Iterator[Any]:
        inputs = []
        for name, array in tensors.items():
            inputs.append(grpc_client.InferInput(name, list(array.shape), TYPES[array.dtype.name]))
            inputs[-1].set_data_from_numpy(array)
        self._client.async_stream_infer(model, inputs, request_id="drained", enable_empty_final_response=True)
        while True:
            event = self._events.get(timeout=120)
            if isinstance(event, Exception):
                raise event
            if event.get_response().outputs:
                yield event
            if event.get_response().parameters["triton_final_response"].bool_param:
                return


@contextmanager
def stream(server: Server) -> Iterator[Stream]:
    with grpc_client.InferenceServerClient(server.grpc) as client:
        yield Stream(client)
        client.stop_stream(cancel_requests=True)


def test_the_engine_delivers_every_token(start_server: Callable[..., Server]) -> None:
    server = start_server("--model=tensorrt_llm")
    with stream(server) as engine:
        answers = engine.ask("tensorrt_llm", ENGINE_REQUEST)
        received = [next(answers)]
        server.ask_to_stop()
        received += answers
    ids = [token for answer in received for token in answer.as_numpy("output_ids").reshape(-1)]
    assert len(ids) == TOKENS
    assert "in flight" in server.stop()


def test_the_chain_delivers_its_whole_answer_and_takes_no_other(
    start_server: Callable[..., Server], data_dir: Path
) -> None:
    server = start_server(data_dir=data_dir)
    with stream(server) as running, stream(server) as late:
        answers = running.ask("chain", CHAIN_REQUEST)
        first = next(answers)
        server.ask_to_stop()
        wait_for_draining(server)
        with pytest.raises(InferenceServerException, match=r"UNAVAILABLE|draining|going down"):
            list(late.ask("chain", CHAIN_REQUEST))
        last = [first, *answers][-1]
    report = json.loads(last.as_numpy("report").item())
    assert last.as_numpy("finish_reason").item() == b"length"
    assert last.as_numpy("num_output_tokens").item() == TOKENS
    assert report
    assert "in flight" in server.stop()


def wait_for_draining(server: Server) -> None:
    assert server.process.stdout is not None
    assert "draining" in server.process.stdout.readline()
