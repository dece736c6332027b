"""`tensorrt_llm` on the real server and the real engine: NVIDIA's contract, in ids."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from engine_client import Answer, Stream, metric, post, request
from running_server import ENGINE, Server
from tritonclient.utils import InferenceServerException

from chainserve.engine.word_lists import pack, word_lists
from chainserve.tokenizer import Tokenizer

pytestmark = pytest.mark.server

WAIT_S = 60
LONG = 6000


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load(ENGINE)


@pytest.fixture
def stream(server: Server) -> Iterator[Stream]:
    with Stream(server.grpc) as opened:
        yield opened


@pytest.fixture(scope="module")
def paris(tokenizer: Tokenizer) -> list[int]:
    return tokenizer.encode("<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n")


@pytest.fixture(scope="module")
def story(tokenizer: Tokenizer) -> list[int]:
    return tokenizer.encode("<|im_start|>user\nTell me a long story.<|im_end|>\n<|im_start|>assistant\n")


def joined(answers: list[Answer]) -> list[int]:
    return [number for answer in answers for number in answer["output_ids"]]


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_streamed_ids_are_the_ids(stream: Stream, paris: list[int], tokenizer: Tokenizer) -> None:
    streamed = stream.responses(**request(paris, 32, streaming=True))
    whole = stream.one(**request(paris, 32, exclude_input_in_output=True))
    assert len(streamed) > 3
    assert joined(streamed) == whole["output_ids"]
    assert [answer["sequence_length"] for answer in streamed] == [[len(answer["output_ids"])] for answer in streamed]
    assert tokenizer.decode(whole["output_ids"]) == "The capital of France is Paris."


def test_the_prompt_comes_back_unless_it_is_excluded(stream: Stream, paris: list[int]) -> None:
    answer = stream.one(**request(paris, 4))
    assert answer["output_ids"][: len(paris)] == paris
    assert answer["sequence_length"] == [len(answer["output_ids"])] == [len(paris) + 4]


def test_only_what_was_asked_for_comes(stream: Stream, paris: list[int]) -> None:
    assert set(stream.one(**request(paris, 2))) == {"output_ids", "sequence_length"}


def test_http_generate_and_generate_stream(server: Server, paris: list[int], stream: Stream) -> None:
    expected = stream.one(**request(paris, 8, exclude_input_in_output=True))["output_ids"]
    url = server.url("v2/models/tensorrt_llm")
    status, body = post(f"{url}/generate", request(paris, 8, exclude_input_in_output=True))
    assert (status, json.loads(body)["output_ids"]) == (200, expected)
    status, body = post(f"{url}/generate_stream", request(paris, 8, streaming=True))
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]
    pieces = [event["output_ids"] for event in events if "output_ids" in event]
    flat = [number for piece in pieces for number in (piece if isinstance(piece, list) else [piece])]
    assert (status, flat) == (200, expected)


def test_end_id_and_min_tokens(stream: Stream, paris: list[int], tokenizer: Tokenizer) -> None:
    answer = stream.one(**request(paris, 32, exclude_input_in_output=True))["output_ids"]
    cut = stream.one(**request(paris, 32, exclude_input_in_output=True, end_id=answer[3]))["output_ids"]
    assert cut == answer[:3]
    endless = stream.one(**request(paris, 24, exclude_input_in_output=True, end_id=-1))["output_ids"]
    assert len(endless) == 24
    longer = stream.one(**request(paris, 32, exclude_input_in_output=True, min_tokens=20))["output_ids"]
    assert len(longer) >= 20
    assert not set(longer[:20]) & set(tokenizer.eos_ids)


def test_stop_words_end_the_answer_and_stay_in_it(stream: Stream, paris: list[int]) -> None:
    answer = stream.one(**request(paris, 32, exclude_input_in_output=True))["output_ids"]
    for streaming in (False, True):
        stopped = stream.responses(
            **request(paris, 32, exclude_input_in_output=True, streaming=streaming),
            stop_words_list=pack([(answer[2], answer[3]), (49000,)], width=6),
        )
        assert joined(stopped) == answer[:4]


def test_bad_words_do_not_occur(stream: Stream, paris: list[int], tokenizer: Tokenizer) -> None:
    bad = word_lists(tokenizer, ["Paris", "capital"])
    answer = stream.one(**request(paris, 32, exclude_input_in_output=True, bad_words_list=bad))
    text = tokenizer.decode(answer["output_ids"])
    assert text
    assert "Paris" not in text
    assert "capital" not in text


def test_seeds(stream: Stream, story: list[int]) -> None:
    def drawn(**more: Any) -> list[int]:
        sampling = {"runtime_top_p": 1.0, "temperature": 1.5, "exclude_input_in_output": True}
        return list(stream.one(**request(story, 24, **sampling, **more))["output_ids"])

    assert drawn(seed=7) == drawn(seed=7)
    assert drawn(seed=7) != drawn(seed=8)
    assert drawn(seed=7, runtime_top_k=1) == drawn(runtime_top_k=1)


def test_penalties_change_the_answer(stream: Stream, story: list[int]) -> None:
    plain = stream.one(**request(story, 48, exclude_input_in_output=True))["output_ids"]
    for penalty in ({"repetition_penalty": 3.0}, {"presence_penalty": 2.0, "frequency_penalty": 2.0}):
        assert stream.one(**request(story, 48, exclude_input_in_output=True, **penalty))["output_ids"] != plain


def test_sequences_of_one_request_come_with_their_index(stream: Stream, story: list[int]) -> None:
    sampling = {"runtime_top_p": 1.0, "temperature": 1.5, "seed": 5, "exclude_input_in_output": True}
    answers = stream.responses(**request(story, 12, num_return_sequences=3, **sampling))
    by_index = {answer["sequence_index"][0]: answer["output_ids"] for answer in answers}
    assert sorted(by_index) == [0, 1, 2]
    assert len({tuple(ids) for ids in by_index.values()}) == 3


def test_log_probs(stream: Stream, paris: list[int]) -> None:
    answers = stream.responses(**request(paris, 8, streaming=True, return_log_probs=True))
    probs = [value for answer in answers for value in answer["output_log_probs"]]
    assert len(probs) == len(joined(answers))
    assert all(value <= 0 for value in probs)
    assert answers[-1]["cum_log_probs"] == pytest.approx([sum(probs)], rel=1e-4)


def test_counts(stream: Stream, paris: list[int]) -> None:
    counts = {"return_num_input_tokens": True, "return_num_output_tokens": True}
    answers = stream.responses(**request(paris, 6, streaming=True, **counts))
    assert {answer["num_input_tokens"][0] for answer in answers} == {len(paris)}
    assert sum(answer["num_output_tokens"][0] for answer in answers) == len(joined(answers))
    assert stream.one(**request(paris, 6, **counts))["num_output_tokens"] == [6]


def test_figures_and_a_shared_prefix(stream: Stream, tokenizer: Tokenizer) -> None:
    unique = tokenizer.encode(f"{time.monotonic_ns()} " + "The river runs under the old stone bridge. " * 30)[:200]
    ids = (unique + [198] * 200)[:200]
    cold = stream.one(**request([*ids, 1, 2, 3], 8, return_perf_metrics=True))
    warm = stream.one(**request([*ids, 4, 5, 6], 8, return_perf_metrics=True))
    assert cold["kv_cache_reused_blocks"] == [0]
    assert warm["kv_cache_reused_blocks"] == [6]
    assert warm["kv_cache_alloc_total_blocks"] == cold["kv_cache_alloc_total_blocks"] == [7]
    assert warm["kv_cache_alloc_new_blocks"] == [1]
    for answer in (cold, warm):
        times = [answer[f"{name}_time_ns"][0] for name in ("arrival", "first_scheduled", "first_token", "last_token")]
        assert times == sorted(times)
        assert times[0] > 0


SCHEMA = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}


@pytest.mark.parametrize(
    ("guide", "matches"),
    [
        (("json_schema", json.dumps(SCHEMA)), lambda text: json.loads(text)["city"] in ("Paris", "Rome")),
        (("regex", "[0-9]{4}-[0-9]{2}"), lambda text: re.fullmatch("[0-9]{4}-[0-9]{2}", text)),
        (("ebnf_grammar", 'root ::= "oui" | "巴黎，法国。"'), lambda text: text in ("oui", "巴黎，法国。")),
        (("json", ""), lambda text: text.lstrip().startswith("{")),
    ],
)
def test_guided_decoding(
    stream: Stream, paris: list[int], tokenizer: Tokenizer, guide: tuple[str, str], matches: Callable[[str], object]
) -> None:
    guided = dict(zip(("guided_decoding_guide_type", "guided_decoding_guide"), guide, strict=True))
    answer = stream.one(**request(paris, 48, exclude_input_in_output=True, **guided))
    assert matches(tokenizer.decode(answer["output_ids"]))


def test_characters_stream_whole(stream: Stream, paris: list[int], tokenizer: Tokenizer) -> None:
    text = "你好，世界！👩‍👩‍👧 a  b 今天。"
    guided = {"guided_decoding_guide_type": "ebnf_grammar", "guided_decoding_guide": f'root ::= "{text}"'}
    answers = stream.responses(**request(paris, 80, streaming=True, **guided))
    pieces = [tokenizer.decode(answer["output_ids"]) for answer in answers]
    assert "".join(pieces) == text
    assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)


BAD: list[tuple[str, dict[str, Any]]] = [
    ("input_ids: ids must be at least 0 and below the vocabulary size", {"input_ids": [49152], "input_lengths": 1}),
    ("input_ids: ids must be", {"input_ids": [-1], "input_lengths": 1}),
    ("input_ids: must hold at least 1 id", {"input_lengths": 0}),
    ("input_lengths: must be from 0", {"input_lengths": 99}),
    ("input_ids: is required", {"input_ids": None}),
    ("request_output_len: must be at least 1", {"request_output_len": 0}),
    ("request_output_len: prompt and output together take at most 8192", {"request_output_len": 8192}),
    ("temperature: must be a finite number", {"temperature": float("nan")}),
    ("runtime_top_p: must be at most 1", {"runtime_top_p": 1.5}),
    ("runtime_top_k: must be at least 0", {"runtime_top_k": -3}),
    ("min_tokens: must be", {"min_tokens": 17}),
    ("beam_width: the CPU engine cannot honour it", {"beam_width": 4}),
    ("lora_task_id: the CPU engine cannot honour it", {"lora_task_id": 1}),
    ("embedding_bias: the CPU engine cannot honour it", {"embedding_bias": [1.0]}),
    ("draft_input_ids: the CPU engine cannot honour it", {"draft_input_ids": [1]}),
    ("return_context_logits: the CPU engine cannot honour it", {"return_context_logits": True}),
    ("stop_words_list: ids must be", {"stop_words_list": [[50000], [1]]}),
    ("bad_words_list: ids must be", {"bad_words_list": [[50000], [1]]}),
    ("guided_decoding_guide_type: must be one of", {"guided_decoding_guide_type": "yaml"}),
    (
        "guided_decoding_guide: Failed to parse JSON",
        {"guided_decoding_guide_type": "json_schema", "guided_decoding_guide": "{secret"},
    ),
    (
        "guided_decoding_guide: Regex parsing error",
        {"guided_decoding_guide_type": "regex", "guided_decoding_guide": "(a"},
    ),
    (
        "guided_decoding_guide: EBNF",
        {"guided_decoding_guide_type": "ebnf_grammar", "guided_decoding_guide": "secret"},
    ),
    ("stop: needs the request_id", {"stop": True}),
]


@pytest.mark.parametrize(("problem", "fields"), BAD, ids=[problem for problem, _ in BAD])
def test_bad_input(server: Server, problem: str, fields: dict[str, Any]) -> None:
    with Stream(server.grpc) as stream:
        said = stream.error(**request([1, 2, 3]) | fields)
    assert said.startswith(problem)
    assert "Traceback" not in said
    assert "secret" not in said


def test_bad_input_over_http(server: Server) -> None:
    status, body = post(server.url("v2/models/tensorrt_llm/generate"), request([1, 2, 49152]))
    assert status == 400
    assert "input_ids" in body


def test_bad_input_leaves_running_streams_alone(server: Server, stream: Stream, story: list[int]) -> None:
    stream.send(**request(story, 60, streaming=True, end_id=-1))
    stream.next()
    for problem, fields in BAD[-4:-1]:
        with Stream(server.grpc) as other:
            assert other.error(**request([1, 2, 3]) | fields).startswith(problem)
    assert 57 <= len(joined(stream.drain())) <= 59


def test_sixteen_streams_interleave(stream: Stream, tokenizer: Tokenizer) -> None:
    for number in range(16):
        stream.send(str(number), **request(tokenizer.encode(f"Number {number} is"), 24, streaming=True, end_id=-1))
    order, open_requests = [], 16
    while open_requests:
        name, _, final = stream.next()
        order.append(name)
        open_requests -= final
    last_start = max(order.index(str(number)) for number in range(16))
    first_end = min(len(order) - 1 - order[::-1].index(str(number)) for number in range(16))
    assert last_start < first_end


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
    table = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in table.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}
    engines = [int(pid) for pid, _, command in rows if "chainserve.engine.cpu" in command]
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
