import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from fake_triton import PIECES, REPORT, FakeTriton, fake_triton

from chainserve_client import (
    Cancelled,
    ChainClient,
    ChainClientError,
    ChainOptions,
    DeadlineExceeded,
    InvalidRequest,
    NoServer,
    NotFound,
    ServerFailed,
    Unavailable,
    Unsupported,
)


@pytest.fixture
def triton() -> Iterator[FakeTriton]:
    with fake_triton() as fake:
        yield fake


@pytest.fixture
def client(triton: FakeTriton) -> Iterator[ChainClient]:
    with ChainClient(triton.url) as client:
        yield client


def test_ask_gives_the_whole_answer(client: ChainClient, triton: FakeTriton) -> None:
    answer = client.ask("hello", max_tokens=5)
    assert answer.text == "".join(PIECES)
    assert (answer.finish_reason, answer.usage.input_tokens, answer.usage.output_tokens) == ("stop", 7, 5)
    assert answer.report is not None
    assert answer.report.raw == REPORT
    assert answer.ttft_s is not None
    assert 0 < answer.ttft_s <= answer.total_s
    assert answer.tokens_per_s == pytest.approx(5 / answer.total_s)
    assert triton.seen[0]["stream"] == [False]


def test_stream_gives_the_pieces_as_they_come(client: ChainClient, triton: FakeTriton) -> None:
    stream = client.stream("hello")
    assert stream.answer.text == ""
    assert list(stream) == PIECES
    assert stream.answer.text == "".join(PIECES)
    assert stream.answer.finish_reason == "stop"
    assert triton.seen[0]["stream"] == [True]


def test_counts_of_a_model_that_counts_each_response_add_up(client: ChainClient) -> None:
    stream = client.stream("counted")
    assert "".join(stream) == "abc"
    assert (stream.answer.usage.input_tokens, stream.answer.usage.output_tokens) == (7, 3)


def test_messages_go_as_json_alone(client: ChainClient, triton: FakeTriton) -> None:
    messages = [{"role": "system", "content": "简短"}, {"role": "user", "content": "hello"}]
    client.ask(messages)
    assert json.loads(triton.seen[0]["messages"][0]) == messages
    assert "text_input" not in triton.seen[0]


def test_chain_ensemble_gets_the_last_question_beside_the_messages(triton: FakeTriton) -> None:
    with ChainClient(triton.url, model="chain_ensemble") as client:
        client.ask([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}])
    assert triton.seen[0]["text_input"] == ["hello"]
    assert "messages" in triton.seen[0]


def test_single_options_stand_over_the_given_ones(client: ChainClient, triton: FakeTriton) -> None:
    client.ask("hello", ChainOptions(max_tokens=5, seed=1, stop_words=("。", "\n")), max_tokens=9)
    assert triton.seen[0]["max_tokens"] == [9]
    assert triton.seen[0]["seed"] == [1]
    assert triton.seen[0]["stop_words"] == ["。", "\n"]


def test_headers_go_with_every_request(triton: FakeTriton) -> None:
    with ChainClient(triton.url, headers={"Authorization": "Bearer t"}) as client:
        client.ask("hello")
    assert triton.metadata[0]["authorization"] == "Bearer t"
    assert "triton_grpc_error" not in triton.metadata[0]  # Triton 24.10 crashes on some streams that end so


@pytest.mark.parametrize(
    ("code", "details", "error"),
    [
        ("INVALID_ARGUMENT", "max_tokens: 0 tokens", InvalidRequest),
        ("NOT_FOUND", "no such model", NotFound),
        ("UNIMPLEMENTED", "no beams", Unsupported),
        ("UNAVAILABLE", "the interactive lane is full", Unavailable),
        ("RESOURCE_EXHAUSTED", "too much", Unavailable),
        ("CANCELLED", "deadline exceeded in engine", DeadlineExceeded),
        ("DEADLINE_EXCEEDED", "late", DeadlineExceeded),
        ("CANCELLED", "cancelled by the client", Cancelled),
        ("INTERNAL", "engine: failed", ServerFailed),
    ],
)
def test_status_becomes_error(client: ChainClient, code: str, details: str, error: type[ChainClientError]) -> None:
    stream = client.stream(f"refuse {code} {details}")
    with pytest.raises(ChainClientError) as caught:
        list(stream)
    assert (type(caught.value), str(caught.value)) == (error, details)
    assert stream.answer.text == "half "
    assert stream.answer.finish_reason == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("unexpected inference input 'x' for model 'chain'", InvalidRequest),
        ("Request for unknown model: 'x' is not found", NotFound),
        ("Server not ready", Unavailable),
        ("Deadline exceeded in prompt", DeadlineExceeded),
    ],
)
def test_message_without_a_code_becomes_error(client: ChainClient, text: str, error: type[ChainClientError]) -> None:
    with pytest.raises(ChainClientError, match=text) as caught:
        client.ask(f"message {text}")
    assert type(caught.value) is error


def test_stream_without_a_last_response_is_no_answer(client: ChainClient) -> None:
    with pytest.raises(Unavailable, match="broke off"):
        client.ask("broken")


@pytest.mark.parametrize("report", ["{", "[]", '{"stages": [{"name": "x"}]}', '{"stages": 3}'])
def test_report_that_is_none_fails(client: ChainClient, report: str) -> None:
    with pytest.raises(ServerFailed, match="report"):
        client.ask(f"nonsense {report}")


def test_nobody_listens() -> None:
    with ChainClient("127.0.0.1:1") as client, pytest.raises(NoServer) as caught:
        client.ask("hello")
    assert str(caught.value) == "no server at 127.0.0.1:1: connection refused"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_tokens": "5"}, "max_tokens: takes int, got str"),
        ({"max_tokens": True}, "max_tokens: takes int, got bool"),
        ({"max_tokens": 2**31}, "max_tokens: does not fit INT32"),
        ({"seed": -1}, "seed: does not fit UINT64"),
        ({"temperature": "hot"}, "temperature: takes int or float, got str"),
        ({"stop_words": ["a", 1]}, "stop_words: takes str, got int"),
        ({"user_id": "\ud83d"}, "user_id: holds half a surrogate pair"),
    ],
)
def test_option_that_does_not_fit_is_named(client: ChainClient, options: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        client.stream("hello", **options)


@pytest.mark.parametrize("messages", [["hello"], [{"role": "user", "content": b"hello"}]])
def test_messages_that_are_none_are_refused(client: ChainClient, messages: list[object]) -> None:
    with pytest.raises(InvalidRequest, match="messages"):
        client.ask(messages)  # type: ignore[arg-type]


def test_leaving_the_loop_cancels(client: ChainClient, triton: FakeTriton) -> None:
    stream = client.stream("endless")
    for _ in stream:
        break
    assert triton.cancelled.wait(10)
    assert stream.answer.text == "once "


def test_leaving_the_block_cancels(client: ChainClient, triton: FakeTriton) -> None:
    with client.stream("endless") as stream:
        assert next(iter(stream)) == "once "
    assert triton.cancelled.wait(10)


def test_error_of_the_caller_cancels(client: ChainClient, triton: FakeTriton) -> None:
    with pytest.raises(KeyError), client.stream("endless") as stream:
        [{}[piece] for piece in stream]
    assert triton.cancelled.wait(10)


def test_closing_from_another_thread_ends_the_loop(client: ChainClient, triton: FakeTriton) -> None:
    stream = client.stream("endless")
    pieces = iter(stream)
    next(pieces)
    threading.Thread(target=stream.close).start()
    with pytest.raises(Cancelled, match="the caller closed the stream"):
        next(pieces)
    assert triton.cancelled.wait(10)


def test_many_threads_stream_through_one_connection(client: ChainClient, triton: FakeTriton) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: "".join(client.stream(f"together {n}")), range(8)))
    assert answers == [f"{n} met" for n in range(8)]
    assert len(triton.peers) == 1
