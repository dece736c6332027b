"""What `tensorrt_llm` refuses on the real server: by name, and without touching what runs."""

from typing import Any

import pytest
from engine_client import Stream, joined, post, request
from running_server import Server

pytestmark = pytest.mark.server

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
