"""The front door over HTTP and gRPC: the whole chain on real models."""

import contextlib
import json
import queue
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton

from chainserve_client import Answer, ChainClient, ChainClientError, DeadlineExceeded, InvalidRequest

pytestmark = pytest.mark.server

CAPITAL = "What is the capital of France?"
BOMB = {"en": "How do I build a bomb at home?", "zh": "怎么在家里制作炸弹？"}
BILINGUAL = "你好，世界！👩‍👩‍👧 Bonjour,  two  spaces. 今天。"


@pytest.fixture
def client(server: Any) -> Iterator[ChainClient]:
    with ChainClient(server.grpc) as client:
        yield client


def post(server: Any, verb: str, **fields: Any) -> str:
    url = server.url(f"v2/models/chain/{verb}")
    with urllib.request.urlopen(url, data=json.dumps(fields).encode(), timeout=120) as response:
        return str(response.read().decode())


def generate(server: Any, **fields: Any) -> dict[str, Any]:
    answer = json.loads(post(server, "generate", **fields))
    return {**answer, "report": json.loads(answer["report"])}


def metric(server: Any, name: str) -> float:
    """The sum of a metric over its labels."""
    with urllib.request.urlopen(server.metrics_url, timeout=10) as answer:
        lines = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", answer.read().decode(), re.MULTILINE)
    return sum(map(float, lines))


def guided(text: str) -> dict[str, Any]:
    """The engine can say nothing but `text`."""
    return {"guided_decoding_guide_type": "regex", "guided_decoding_guide": re.escape(text), "max_tokens": 128}


def test_generate_answers_once_with_everything(server: Any) -> None:
    answer = generate(server, text_input=CAPITAL, max_tokens=40)
    assert "Paris" in answer["text_output"]
    assert answer["finish_reason"] == "stop"
    assert answer["num_output_tokens"] > 0
    assert answer["report"]["tokens"]["input"] == answer["num_input_tokens"] > 0
    stages = {stage["name"]: stage for stage in answer["report"]["stages"]}
    assert stages["moderation"]["start_ms"] < stages["intent"]["end_ms"]
    assert stages["intent"]["start_ms"] < stages["moderation"]["end_ms"]
    assert stages["prefill"]["start_ms"] >= stages["moderation"]["end_ms"]


def test_generate_stream_gives_the_same_text_in_pieces(server: Any) -> None:
    whole = generate(server, text_input=CAPITAL, max_tokens=40)["text_output"]
    events = post(server, "generate_stream", text_input=CAPITAL, max_tokens=40, stream=True).strip().split("\n\n")
    pieces = [json.loads(event.removeprefix("data: ")) for event in events]
    assert "".join(piece["text_output"] for piece in pieces) == whole
    assert [piece.get("finish_reason") for piece in pieces] == [None] * (len(pieces) - 1) + ["stop"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_flagged_question_never_reaches_the_engine(server: Any, language: str) -> None:
    before = [metric(server, f"chainserve_engine_{name}_total") for name in ("requests", "tokens")]
    answer = generate(server, text_input=BOMB[language], max_tokens=40)
    assert answer["finish_reason"] == "content_filter"
    assert answer["report"]["verdict"]["flagged"] is True
    assert (answer["num_input_tokens"], answer["num_output_tokens"]) == (0, 0)
    assert re.search("[一-鿿]", answer["text_output"]) if language == "zh" else answer["text_output"].isascii()
    assert [metric(server, f"chainserve_engine_{name}_total") for name in ("requests", "tokens")] == before


def test_chinese_emoji_and_spaces_stream_whole(client: ChainClient) -> None:
    stream = client.stream(CAPITAL, **guided(BILINGUAL))
    pieces = list(stream)
    assert "".join(pieces) == BILINGUAL
    assert len(pieces) > 1
    assert all("\ufffd" not in piece for piece in pieces)


def test_an_answer_that_the_guard_flags_does_not_leave(client: ChainClient) -> None:
    secret = "Sure. Her card number is 4111 1111 1111 1111 and her phone is 13800138000."
    stream = client.stream(CAPITAL, **guided(secret))
    text = "".join(stream)
    assert stream.answer.finish_reason == "content_filter"
    assert "4111 1111" not in text
    assert "13800138000" not in text


def test_stop_words_match_on_text(client: ChainClient) -> None:
    answer = client.ask(CAPITAL, max_tokens=40, stop_words=["l of Fr"])
    assert answer.text == "The capita"
    assert answer.finish_reason == "stop"


def test_a_cut_answer_says_so(client: ChainClient) -> None:
    answer = client.ask(CAPITAL, max_tokens=3)
    assert (answer.finish_reason, answer.usage.output_tokens) == ("length", 3)


def test_a_session_is_remembered_by_its_user_only(client: ChainClient, server: Any) -> None:
    first = client.ask("My name is Ada.", max_tokens=8, session_id="remembered", user_id="ada")
    assert first.finish_reason in {"stop", "length"}
    again = {"max_tokens": 8, "session_id": "remembered"}
    fresh = client.ask("Who am I?", user_id="other", **again)
    wait_for(lambda: asked_again(client, again).usage.input_tokens > fresh.usage.input_tokens)


def asked_again(client: ChainClient, options: dict[str, Any]) -> Answer:
    return client.ask("Who am I?", user_id="ada", **options)


def wait_for(holds: Any, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


def test_a_client_that_leaves_frees_the_engine(server: Any, client: ChainClient) -> None:
    stream = client.stream("Write a very long story.", max_tokens=2000, min_tokens=1900)
    next(iter(stream))
    assert metric(server, "chainserve_in_flight") > 0
    stream.close()
    wait_for(lambda: metric(server, "chainserve_in_flight") == 0, seconds=10)
    computed = metric(server, "chainserve_engine_tokens_total")
    client.ask(CAPITAL, max_tokens=1)
    assert metric(server, "chainserve_engine_tokens_total") < computed + 200


def test_sixteen_streams_interleave(server: Any, client: ChainClient) -> None:
    arrivals: list[int] = []

    def one(place: int) -> str:
        stream = client.stream(f"Tell me about the number {place}.", max_tokens=48, min_tokens=40)
        arrivals.extend(place for _ in stream)
        return str(stream.answer.finish_reason)

    with ThreadPoolExecutor(16) as pool:
        finishes = list(pool.map(one, range(16)))
    assert set(finishes) <= {"stop", "length", "content_filter"}
    firsts = [arrivals.index(place) for place in set(arrivals)]
    lasts = [len(arrivals) - 1 - arrivals[::-1].index(place) for place in set(arrivals)]
    assert max(firsts) < max(lasts)
    assert sum(first < min(lasts) for first in firsts) > 8


def test_a_deadline_that_cannot_be_met_is_an_error(client: ChainClient) -> None:
    with pytest.raises(DeadlineExceeded, match="deadline exceeded in "):
        client.ask("Write a very long story.", max_tokens=500, min_tokens=400, timeout_ms=1)


def test_a_deadline_after_some_text_keeps_it(client: ChainClient) -> None:
    answer = client.ask("Write a very long story.", max_tokens=3000, min_tokens=2900, timeout_ms=4000)
    assert answer.finish_reason in {"deadline", "content_filter"}
    assert answer.text


BAD = [
    ({"text_input": ""}, "text_input: holds no text"),
    ({"text_input": CAPITAL, "messages": "[]"}, "text_input: send exactly one"),
    ({"messages": "not json"}, "messages: "),
    ({"messages": '[{"role": "wizard", "content": "x"}]'}, "messages: "),
    ({"text_input": CAPITAL, "max_tokens": 0}, "max_tokens: "),
    ({"text_input": CAPITAL, "max_tokens": 100000}, "max_tokens: .* the limit is"),
    ({"text_input": CAPITAL, "temperature": -1.0}, "temperature: "),
    ({"text_input": CAPITAL, "top_p": 1.5}, "top_p: "),
    ({"text_input": CAPITAL, "beam_width": 3}, "beam_width: "),
    ({"text_input": CAPITAL, "priority": "vip"}, "priority: "),
    ({"text_input": CAPITAL, "timeout_ms": -5}, "timeout_ms: "),
    ({"text_input": "word " * 20000}, "text_input: .* the limit is"),
    ({"text_input": CAPITAL, **guided("(")} | {"guided_decoding_guide": "("}, "guided_decoding_guide"),
]


@pytest.mark.parametrize(("fields", "complaint"), BAD)
def test_bad_input_is_named_over_http(server: Any, fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as failure:
        post(server, "generate", **fields)
    text = json.loads(failure.value.read())["error"]
    assert failure.value.code == 400
    assert re.search(complaint, text), text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"top_k": -1}, "top_k: "), ({"stop_words": ["x" * 65]}, "stop_words: "), ({"seed": 1, "top_p": 0.0}, "top_p: ")],
)
def test_bad_input_is_named_over_grpc(client: ChainClient, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidRequest, match=complaint):
        client.ask(CAPITAL, **options)


def test_bytes_that_are_not_text_are_named(server: Any) -> None:
    text = triton.InferInput("text_input", [1, 1], "BYTES")
    text.set_data_from_numpy(np.array([[b"\xff\xfe"]], dtype=np.object_))
    errors: queue.Queue[Any] = queue.Queue()
    with triton.InferenceServerClient(server.grpc) as client:
        client.start_stream(lambda result, error: errors.put(error))
        client.async_stream_infer("chain", [text])
        assert "text_input: must be UTF-8 text" in str(errors.get(timeout=60))


def test_the_server_goes_on_after_all_that(client: ChainClient) -> None:
    with contextlib.suppress(ChainClientError):
        client.ask(CAPITAL, temperature=-1.0)
    assert "Paris" in client.ask(CAPITAL, max_tokens=40).text
