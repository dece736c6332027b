"""The intent model over gRPC and HTTP."""

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

pytestmark = pytest.mark.server


def ask(server: Any, *texts: str | bytes) -> list[tuple[str, str, float]]:
    """One row a text: intent, route, confidence."""
    tensor = triton.InferInput("text", [len(texts), 1], "BYTES")
    encoded = [text.encode() if isinstance(text, str) else text for text in texts]
    tensor.set_data_from_numpy(np.array(encoded, dtype=np.object_).reshape(-1, 1))
    with triton.InferenceServerClient(server.grpc) as client:
        answer = client.infer("intent", [tensor])
    columns = [answer.as_numpy(name) for name in ("intent", "route", "confidence")]
    assert [column.shape for column in columns] == [(len(texts), 1)] * 3
    return [(i.decode(), r.decode(), float(c)) for i, r, c in zip(*(column[:, 0] for column in columns), strict=True)]


def test_both_languages_in_one_batch(server: Any) -> None:
    answers = ask(server, "play some jazz", "帮我订一张去上海的机票", "who painted the mona lisa", "")
    assert [(intent, route) for intent, route, _ in answers] == [
        ("play_music", "home"),
        ("book_flight", "travel"),
        ("", "default"),
        ("", "default"),
    ]
    assert all(0.0 <= confidence <= 1.0 for _, _, confidence in answers)


def test_over_http(server: Any) -> None:
    body = json.dumps({"text": "今天天气怎么样"}).encode()
    with urllib.request.urlopen(server.url("v2/models/intent/generate"), data=body, timeout=60) as response:
        answer = json.loads(response.read())
    assert (answer["intent"], answer["route"]) == ("weather", "utility")


def test_many_at_once_get_their_own_answers(server: Any) -> None:
    texts = ["tell me a joke", "把客厅的灯关了"] * 16
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda text: ask(server, text)[0][0], texts))
    assert answers == ["tell_joke", "smart_home"] * 16


def test_text_that_is_not_utf8_is_named(server: Any) -> None:
    with pytest.raises(InferenceServerException, match="text: must be UTF-8"):
        ask(server, b"\xff\xfe")
