"""`tensorrt_llm` on the real server and the real engine: NVIDIA's contract, in ids."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from engine_client import Stream, joined, post, request
from running_server import Server

from chainserve.engine.word_lists import pack, word_lists
from chainserve.tokenizer import Tokenizer

pytestmark = pytest.mark.server


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
