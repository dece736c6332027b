"""The context model over gRPC and HTTP, on a real store and index."""

import json
import urllib.request
import uuid
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from chainserve.context.interfaces import Session
from chainserve.context.store import Store

pytestmark = pytest.mark.server


def fetch(server: Any, text: str | bytes, **caller: str) -> dict[str, Any]:
    inputs = []
    for name, value in {"text": text, **caller}.items():
        tensor = triton.InferInput(name, [1, 1], "BYTES")
        tensor.set_data_from_numpy(np.array([[value.encode() if isinstance(value, str) else value]], dtype=np.object_))
        inputs.append(tensor)
    with triton.InferenceServerClient(server.grpc) as client:
        result = client.infer("context", inputs)
    profile, history, passages = (result.as_numpy(name)[0, 0].decode() for name in ("profile", "history", "passages"))
    return {"profile": profile, "history": json.loads(history), "passages": json.loads(passages)}


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("What is the capital of France?", "geography/france.md"),
        ("中国最长的河流是什么？", "geography/zhongguo.md"),
        ("Tell me a joke.", None),
        ("今天天气怎么样？", None),
    ],
)
def test_passages_that_fit_and_no_others(server: Any, question: str, source: str | None) -> None:
    found = [passage["source"] for passage in fetch(server, question)["passages"]]
    assert found[:1] == ([source] if source else [])


def test_profile_and_history_of_the_caller_alone(server: Any) -> None:
    """The store is written by another process than the model's, as `chain` does."""
    session = Session("acme", uuid.uuid4().hex, "s1")
    caller = {"tenant": "acme", "user_id": session.user_id, "session_id": "s1"}
    store = Store(server.data_dir)
    store.append_turn(session, "你好", "Hello 👋")
    store.set_profile("acme", session.user_id, "素食")
    store.close()
    mine = fetch(server, "hi", **caller)
    assert mine["profile"] == "素食"
    assert [message["content"] for message in mine["history"]] == ["你好", "Hello 👋"]
    nothing = {"profile": "", "history": [], "passages": []}
    assert fetch(server, "hi", **caller | {"tenant": "other"}) == nothing
    assert fetch(server, "hi", **caller | {"user_id": "other"}) == nothing
    assert fetch(server, "hi", **caller | {"session_id": "other"})["history"] == []
    assert fetch(server, "hi") == nothing


def test_over_http(server: Any) -> None:
    body = json.dumps({"text": "What is the capital of France?"}).encode()
    with urllib.request.urlopen(server.url("v2/models/context/generate"), data=body, timeout=60) as response:
        answer = json.loads(response.read())
    assert "Paris" in json.loads(answer["passages"])[0]["text"]


def test_text_that_is_not_utf8(server: Any) -> None:
    with pytest.raises(InferenceServerException, match="text: must be UTF-8 text"):
        fetch(server, b"\xff\xfe")
