"""Each stage of the chain slow, hung, broken or lying: every request is answered, in time, with the documented result.

The chain is the real one on the real server; the stages behind it are simulated, so that they can be broken at will.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from running_server import ENGINE, ROOT, Server, running_server

from chainserve_client import Answer, ChainClient, DeadlineExceeded, ServerFailed
from chainserve_simulation.repository import SimulatedRepository
from chainserve_simulation.settings import FLAG_MARKER, EngineSettings

pytestmark = pytest.mark.server

BUDGET_MS = 300
ANSWER = "All work and no play makes a long and harmless answer. "
SAID = ANSWER.strip()
TOKENS = 12
BUDGETS = {stage: {"timeout_ms": BUDGET_MS} for stage in ("moderation", "intent", "context", "output_moderation")}
FAULTS = ["slow", "hung", "error", "malformed"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> SimulatedRepository:
    folder = tmp_path_factory.mktemp("simulated") / "repository"
    engine = EngineSettings(latency_ms=5, token_ms=1, slow_ms=3000, answer=ANSWER)
    made = SimulatedRepository(folder, ROOT / "model_repository", tensorrt_llm=engine, policy={"stages": BUDGETS})
    made.write()
    return made


@pytest.fixture(scope="module")
def simulated(repository: SimulatedRepository, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = (f"--model-repository={repository.folder}", f"--engine={ENGINE}")
    with running_server(tmp_path_factory.mktemp("data"), *options) as server:
        yield server


@pytest.fixture
def client(simulated: Server, repository: SimulatedRepository) -> Iterator[ChainClient]:
    with ChainClient(simulated.grpc) as client:
        yield client
        for stage in ("moderation", "intent", "context", "tensorrt_llm"):
            repository.set(stage, fault="none")
        _mended(client)


def _mended(client: ChainClient) -> None:
    """A stage finishes what it was late with; then all is as before."""
    end = time.monotonic() + 30
    while not _well(client.ask("hello", max_tokens=TOKENS)):
        assert time.monotonic() < end, "the chain did not recover"


def _well(answer: Answer) -> bool:
    return answer.report is not None and {stage.outcome for stage in answer.report.stages} == {"ok"}


def outcome(answer: Answer, stage: str) -> str:
    assert answer.report is not None
    return next(s.outcome for s in answer.report.stages if s.name == stage)


def test_nothing_broken(client: ChainClient) -> None:
    answer = client.ask("hello", max_tokens=TOKENS)
    assert (answer.text, answer.finish_reason) == (SAID, "length")


@pytest.mark.parametrize("stage", ["intent", "context"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_helper_that_fails_is_left_out(
    client: ChainClient, repository: SimulatedRepository, stage: str, fault: str
) -> None:
    repository.set(stage, fault=fault)
    answer = client.ask("hello", max_tokens=TOKENS, timeout_ms=5000)
    assert answer.text == SAID
    assert outcome(answer, stage) == ("timeout" if fault in {"slow", "hung"} else "error")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_guard_that_fails_lets_nothing_through(
    client: ChainClient, repository: SimulatedRepository, fault: str
) -> None:
    repository.set("moderation", fault=fault)
    answer = client.ask("hello", max_tokens=TOKENS, timeout_ms=5000)
    assert answer.finish_reason == "content_filter"
    assert answer.usage.output_tokens == 0
    assert "work and no play" not in answer.text


def test_a_guard_that_hangs_in_mid_answer_stops_it(
    client: ChainClient, repository: SimulatedRepository, simulated: Server
) -> None:
    repository.set("tensorrt_llm", token_ms=20)
    stream = client.stream("hello", max_tokens=400, timeout_ms=20000)
    for _ in stream:
        repository.set("moderation", fault="hung")
    assert stream.answer.finish_reason == "content_filter"
    assert 0 < len(stream.answer.text) < 400


@pytest.mark.parametrize("fault", ["error", "malformed"])
def test_a_broken_engine_is_an_error(client: ChainClient, repository: SimulatedRepository, fault: str) -> None:
    repository.set("tensorrt_llm", fault=fault)
    with pytest.raises(ServerFailed, match="tensorrt_llm: "):
        client.ask("hello", max_tokens=TOKENS, timeout_ms=5000)


@pytest.mark.parametrize("fault", ["slow", "hung"])
def test_a_late_engine_ends_at_the_deadline(client: ChainClient, repository: SimulatedRepository, fault: str) -> None:
    repository.set("tensorrt_llm", fault=fault)
    with pytest.raises(DeadlineExceeded, match="deadline exceeded in engine"):
        client.ask("hello", max_tokens=TOKENS, timeout_ms=500)


def test_a_flagged_answer_ends_before_the_flag(client: ChainClient, repository: SimulatedRepository) -> None:
    repository.set("tensorrt_llm", answer=f"This is all quite harmless and well. {FLAG_MARKER} and this never leaves. ")
    answer = client.ask("hello", max_tokens=60)
    assert answer.finish_reason == "content_filter"
    assert "This is all quite harmless and well. ".startswith(answer.text)
    assert answer.text


def test_many_at_once_while_a_stage_is_broken(client: ChainClient, repository: SimulatedRepository) -> None:
    repository.set("context", fault="hung")
    streams: list[Any] = [client.stream("hello", max_tokens=TOKENS, timeout_ms=10000) for _ in range(16)]
    assert {"".join(stream) for stream in streams} == {SAID}
