"""Who ends a running request of `tensorrt_llm`, and that its slot is free then; the engine's counters."""

import os
import signal
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from engine_client import Stream, joined, metric, request, until
from running_server import Server
from tritonclient.utils import InferenceServerException

pytestmark = pytest.mark.server

LONG = 6000


def idle(server: Server) -> bool:
    return metric(server.metrics_url, "chainserve_engine_active") == 0


def test_a_stop_request_ends_a_running_one(server: Server, stream: Stream, story: list[int]) -> None:
    assert until(lambda: idle(server))
    stream.send("to-stop", **request(story, LONG, streaming=True, end_id=-1))
    stream.next()
    with Stream(server.grpc) as other:
        assert other.responses(request_id="to-stop", **request([1], 1, stop=True)) == []
    assert len(joined(stream.drain())) < LONG
    assert until(lambda: idle(server))


def test_stopping_nothing_is_no_error(stream: Stream) -> None:
    assert stream.responses(request_id="nobody", **request([1], 1, stop=True)) == []


def test_a_client_that_leaves_frees_its_slot(server: Server, story: list[int]) -> None:
    assert until(lambda: idle(server))
    before = metric(server.metrics_url, 'chainserve_engine_tokens_total{kind="output"}')
    with Stream(server.grpc) as leaving:
        leaving.send(**request(story, LONG, streaming=True, end_id=-1))
        leaving.next()
        assert until(lambda: not idle(server))
    assert until(lambda: idle(server))
    assert metric(server.metrics_url, 'chainserve_engine_tokens_total{kind="output"}') - before < LONG


def test_counters_count(server: Server, stream: Stream, paris: list[int]) -> None:
    def totals() -> list[float]:
        names = ("requests_total", 'tokens_total{kind="input"}', 'tokens_total{kind="output"}')
        return [metric(server.metrics_url, f"chainserve_engine_{name}") for name in names]

    assert until(lambda: idle(server))
    before = totals()
    assert stream.error(**request(paris, 0))
    stream.one(**request(paris, 5, end_id=-1))
    assert until(lambda: totals()[2] != before[2])
    requests, read, written = (after - start for after, start in zip(totals(), before, strict=True))
    assert (requests, written) == (1, 5)
    assert 1 <= read <= len(paris)


def engine_pid(server: Server) -> int:
    """Of the engine that this server's model started, however deep below it."""
    parents, engines = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            engines += [int(folder.name)] if b"chainserve.engine.cpu" in (folder / "cmdline").read_bytes() else []
    return next(pid for pid in engines if server.process.pid in ancestors(pid, parents))


def ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    return [pid, *ancestors(parents[pid], parents)] if pid in parents else []


def model_ready(server: Server) -> bool:
    try:
        with urllib.request.urlopen(server.url("v2/models/tensorrt_llm/ready"), timeout=10):
            return True
    except urllib.error.HTTPError:
        return False


def test_when_the_engine_dies_clients_are_told_and_the_model_is_unready(
    start_server: Callable[..., Server], story: list[int]
) -> None:
    server = start_server("--model=tensorrt_llm")
    assert model_ready(server)
    with Stream(server.grpc) as stream:
        stream.send(**request(story, LONG, streaming=True, end_id=-1))
        stream.next()
        os.kill(engine_pid(server), signal.SIGKILL)
        with pytest.raises(InferenceServerException, match="the engine is not running"):
            stream.drain()
    assert until(lambda: not model_ready(server))
