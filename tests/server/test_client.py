"""The client library and `chainserve ask` against the real chain."""

import asyncio
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from typer.testing import CliRunner

from chainserve.cli.app import app
from chainserve_client import AsyncChainClient, ChainClient, InvalidRequest, NotFound

pytestmark = pytest.mark.server

CAPITAL = "What is the capital of France?"


@pytest.fixture
def client(server: Any) -> Iterator[ChainClient]:
    with ChainClient(server.grpc) as client:
        yield client


def held(server: Any, model: str) -> int:
    """Requests that `model` holds now, as its gauge says."""
    with urllib.request.urlopen(f"http://{server.metrics}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(
        int(float(n)) for n in re.findall(rf'^chainserve_in_flight\{{model="{model}"\}} (\S+)$', text, re.MULTILINE)
    )


def eventually(holds: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not (held_now := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return held_now


def test_capital_of_france_is_streamed(client: ChainClient) -> None:
    stream = client.stream(CAPITAL, max_tokens=48)
    pieces = list(stream)
    answer = stream.answer
    assert len(pieces) > 1
    assert "Paris" in answer.text
    assert answer.finish_reason in {"stop", "length"}
    assert 0 < answer.usage.output_tokens <= 48
    assert answer.usage.input_tokens > 0
    assert answer.ttft_s is not None
    assert answer.ttft_s < answer.total_s
    assert answer.report is not None
    assert {"moderation", "intent", "context", "prompt", "prefill", "decode"} <= {
        stage.name for stage in answer.report.stages
    }


def test_chinese_question_comes_back_in_whole_characters(client: ChainClient) -> None:
    stream = client.stream("你好，请介绍一下北京。", max_tokens=32)
    text = "".join(stream)
    assert text
    assert "\ufffd" not in text
    assert stream.answer.finish_reason in {"stop", "length", "content_filter"}


def test_messages_in_openai_form(client: ChainClient) -> None:
    messages = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": CAPITAL}]
    assert "Paris" in client.ask(messages, max_tokens=48).text


def test_unstreamed_equals_streamed(client: ChainClient) -> None:
    whole = client.ask(CAPITAL, max_tokens=40)
    stream = client.stream(CAPITAL, max_tokens=40)
    assert "".join(stream) == whole.text
    assert (stream.answer.finish_reason, stream.answer.usage) == (whole.finish_reason, whole.usage)


def test_leaving_the_loop_frees_the_slots(client: ChainClient, server: Any) -> None:
    assert eventually(lambda: held(server, "chain") == 0, 30)
    for _ in client.stream("Tell me a long story about a river.", min_tokens=400, max_tokens=448):
        assert held(server, "chain") == 1
        break
    assert eventually(lambda: held(server, "chain") == 0, 5)
    assert eventually(lambda: held(server, "tensorrt_llm") == 0, 5)


def test_eight_streams_at_once_through_one_client(client: ChainClient, server: Any) -> None:
    streams = [client.stream(f"Write about the number {n}.", min_tokens=48, max_tokens=64) for n in range(8)]
    assert eventually(lambda: held(server, "chain") == 8, 30)
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map("".join, streams))
    assert all(texts)
    assert {stream.answer.finish_reason for stream in streams} <= {"stop", "length"}


def test_chain_ensemble_speaks_the_same_names(server: Any) -> None:
    with ChainClient(server.grpc, model="chain_ensemble") as client:
        answer = client.ask(CAPITAL, max_tokens=48)
        assert "Paris" in answer.text
        assert answer.usage.output_tokens > 0
        assert "Paris" in client.ask([{"role": "user", "content": CAPITAL}], max_tokens=48).text


def test_ensemble_speaks_the_same_names(server: Any) -> None:
    prompt = f"<|im_start|>user\n{CAPITAL}<|im_end|>\n<|im_start|>assistant\n"
    with ChainClient(server.grpc, model="ensemble") as client:
        counts = {"return_num_input_tokens": True, "return_num_output_tokens": True}
        whole = client.ask(prompt, max_tokens=32, exclude_input_in_output=True, **counts)
        stream = client.stream(prompt, max_tokens=32, **counts)
        assert "".join(stream) == whole.text
        assert "Paris" in whole.text
        assert stream.answer.usage == whole.usage


def test_bad_input_is_named(client: ChainClient) -> None:
    with pytest.raises(InvalidRequest, match="max_tokens"):
        client.ask(CAPITAL, max_tokens=0)
    with pytest.raises(InvalidRequest, match="messages"):
        client.ask([{"role": "pirate", "content": "hello"}])


def test_unknown_model_is_not_found(server: Any) -> None:
    with ChainClient(server.grpc, model="no_such_model") as client, pytest.raises(NotFound, match="no_such_model"):
        client.ask(CAPITAL)


def test_async_client(server: Any) -> None:
    async def main() -> list[str]:
        async with AsyncChainClient(server.grpc) as client:
            answers = await asyncio.gather(*(client.ask(CAPITAL, max_tokens=24) for _ in range(4)))
            return [answer.text for answer in answers]

    assert all("Paris" in text for text in asyncio.run(main()))


def test_ask_command_with_trace(server: Any) -> None:
    result = CliRunner().invoke(app, ["ask", CAPITAL, "--url", server.grpc, "--trace", "--max-tokens", "48"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Paris" in result.stdout
    assert re.search(r"^decode +█+ +\d+\.\d ok$", result.stdout, re.MULTILINE)
    assert result.stdout.splitlines()[-1].startswith("TTFT ")
