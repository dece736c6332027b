"""preprocessing, tensorrt_llm, postprocessing and the ensemble of them, through the real server and engine."""

import json
import queue
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

pytestmark = pytest.mark.server

PARIS = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
ANSWER = "The capital of France is Paris."
BILINGUAL = "你好，世界！👩‍👩‍👧 Bonjour,  two  spaces. 今天。"

TYPES = {
    "text_input": np.object_,
    "max_tokens": np.int32,
    "stream": np.bool_,
    "stop_words": np.object_,
    "bad_words": np.object_,
    "exclude_input_in_output": np.bool_,
    "return_num_input_tokens": np.bool_,
    "return_num_output_tokens": np.bool_,
    "guided_decoding_guide_type": np.object_,
    "guided_decoding_guide": np.object_,
}


def guided(text: str) -> dict[str, Any]:
    """The engine can say nothing but `text`."""
    escaped = "".join(f"\\{letter}" if letter in ".*+?()[]{}|\\^$" else letter for letter in text)
    return {"guided_decoding_guide_type": "regex", "guided_decoding_guide": escaped}


def asked(prompt: str = PARIS, max_tokens: int = 64, **more: Any) -> dict[str, Any]:
    return {"text_input": prompt, "max_tokens": max_tokens, **more}


@dataclass
class Ensemble:
    """The ensemble over HTTP and over a gRPC stream."""

    grpc: str
    http: str

    def post(self, verb: str, fields: dict[str, Any]) -> str:
        url = f"http://{self.http}/v2/models/ensemble/{verb}"
        with urllib.request.urlopen(url, data=json.dumps(fields).encode(), timeout=60) as response:
            return str(response.read().decode())

    def generate(self, **fields: Any) -> dict[str, Any]:
        return dict(json.loads(self.post("generate", asked(**fields))))

    def generate_text(self, **fields: Any) -> str:
        return str(self.generate(exclude_input_in_output=True, **fields)["text_output"])

    def generate_stream(self, **fields: Any) -> list[str]:
        events = self.post("generate_stream", asked(stream=True, **fields)).split("\n\n")
        return [json.loads(event.removeprefix("data: "))["text_output"] for event in events if event.strip()]

    def stream(self, **fields: Any) -> list[dict[str, Any]]:
        """The responses of one gRPC request as plain values by output name."""
        return list(self.responses(tensors(asked(stream=True, **fields))))

    def responses(self, inputs: list[triton.InferInput]) -> Iterator[dict[str, Any]]:
        arrived: queue.Queue[Any] = queue.Queue()
        with triton.InferenceServerClient(self.grpc) as client:
            client.start_stream(lambda result, error: arrived.put(error or result))
            client.async_stream_infer("ensemble", inputs, enable_empty_final_response=True)
            while True:
                item = arrived.get(timeout=60)
                if isinstance(item, Exception):
                    raise item
                response = item.get_response()
                if response.outputs:
                    yield {output.name: item.as_numpy(output.name).reshape(-1).tolist() for output in response.outputs}
                if response.parameters["triton_final_response"].bool_param:
                    return


def tensors(fields: dict[str, Any]) -> list[triton.InferInput]:
    return [tensor(name, np.array([np.atleast_1d(encoded(value))], TYPES[name])) for name, value in fields.items()]


def encoded(value: Any) -> Any:
    if isinstance(value, list):
        return [encoded(item) for item in value]
    return value.encode() if isinstance(value, str) else value


def tensor(name: str, array: np.ndarray) -> triton.InferInput:
    made = triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    made.set_data_from_numpy(array)
    return made


def texts(responses: list[dict[str, Any]]) -> list[str]:
    return [response["text_output"][0].decode() for response in responses]


@pytest.fixture
def ensemble(server: Any) -> Ensemble:
    return Ensemble(server.grpc, server.http)


def test_an_answer(ensemble: Ensemble) -> None:
    assert ensemble.generate_text() == ANSWER


def test_the_prompt_comes_back_unless_it_is_excluded(ensemble: Ensemble) -> None:
    text = ensemble.generate()["text_output"]
    assert text.startswith("user\nWhat is the capital of France?\nassistant\n")
    assert text.endswith(ANSWER)


def test_outputs_come_when_they_are_asked_for_and_only_then(ensemble: Ensemble) -> None:
    counts = {"num_input_tokens", "num_output_tokens"}
    times = {"arrival_time_ns", "first_scheduled_time_ns", "first_token_time_ns", "last_token_time_ns"}
    assert not (counts | times) & set(ensemble.generate())
    assert counts <= set(ensemble.generate(return_num_input_tokens=True, return_num_output_tokens=True))
    assert times <= set(ensemble.generate(return_perf_metrics=True))


def test_counts_are_right(ensemble: Ensemble) -> None:
    answer = ensemble.generate(return_num_input_tokens=True, return_num_output_tokens=True)
    assert (answer["num_input_tokens"], answer["num_output_tokens"]) == (16, 7)


def test_streamed_text_is_the_text(ensemble: Ensemble) -> None:
    whole = ensemble.generate_text()
    for pieces in (ensemble.generate_stream(), texts(ensemble.stream())):
        assert "".join(pieces) == whole
        assert len(pieces) > 1


def test_chinese_emoji_and_spaces_survive_the_stream(ensemble: Ensemble) -> None:
    for pieces in (ensemble.generate_stream(**guided(BILINGUAL)), texts(ensemble.stream(**guided(BILINGUAL)))):
        assert "".join(pieces) == BILINGUAL
        assert len(pieces) > 1
        assert not any("\ufffd" in piece for piece in pieces)


@pytest.mark.parametrize("limit", range(1, 9))
def test_a_limit_inside_a_character_leaves_no_broken_one(ensemble: Ensemble, limit: int) -> None:
    text = ensemble.generate_text(max_tokens=limit, **guided("👩‍👩‍👧"))
    assert "👩‍👩‍👧".startswith(text)
    assert "".join(ensemble.generate_stream(max_tokens=limit, **guided("👩‍👩‍👧"))) == text


@pytest.mark.parametrize("word", ["of", " of"])
def test_a_stop_word_ends_the_answer_whichever_way_it_is_spelt(ensemble: Ensemble, word: str) -> None:
    text = ensemble.generate_text(stop_words=[word])
    assert text.removesuffix(" of").rstrip() == "The capital"
    assert "".join(ensemble.generate_stream(stop_words=[word])) == text


def test_a_chinese_stop_word(ensemble: Ensemble) -> None:
    text = ensemble.generate_text(stop_words=["。"], **guided("你好。世界。"))
    assert text.rstrip("。") == "你好"


def test_bad_words_do_not_appear(ensemble: Ensemble) -> None:
    assert "Paris" not in ensemble.generate_text(bad_words=["Paris"], max_tokens=24)


def test_streams_at_the_same_time_keep_to_themselves_and_in_order(ensemble: Ensemble) -> None:
    wanted = [f"{'甲乙丙丁戊己庚辛'[place]} stream {place} of 8: 一二三 four 五六 👍🏽 seven." for place in range(8)]
    with ThreadPoolExecutor(len(wanted)) as pool:
        answers = list(pool.map(lambda text: "".join(texts(ensemble.stream(**guided(text)))), wanted))
    assert answers == wanted


def test_the_rows_of_a_batch_are_told_apart(ensemble: Ensemble) -> None:
    wanted = ["甲乙丙", "one two three"]
    inputs = {
        "text_input": np.array([[PARIS.encode()], [b"<|im_start|>user\n?"]], np.object_),
        "max_tokens": np.array([[32], [32]], np.int32),
        "stream": np.array([[True], [True]]),
        "guided_decoding_guide_type": np.array([[b"regex"], [b"regex"]], np.object_),
        "guided_decoding_guide": np.array([[text.encode()] for text in wanted], np.object_),
    }
    rows = ["", ""]
    for response in ensemble.responses([tensor(name, array) for name, array in inputs.items()]):
        rows[response["batch_index"][0]] += response["text_output"][0].decode()
    assert rows == wanted


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"prompt": ""}, "QUERY"),
        ({"max_tokens": 0}, "request_output_len"),
        ({"max_tokens": 10**6}, "request_output_len"),
        ({"embedding_bias_words": ["x"], "embedding_bias_weights": [1.0]}, "embedding_bias"),
        ({"embedding_bias_words": ["x"]}, "EMBEDDING_BIAS_WEIGHTS"),
        ({"beam_width": 2}, "beam_width"),
    ],
)
def test_bad_input_is_named(ensemble: Ensemble, fields: dict[str, Any], name: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ensemble.generate(**fields)
    with caught.value as answer:
        assert answer.code == 400
        text = json.loads(answer.read())["error"]
    assert name in text
    assert "Traceback" not in text


def test_a_required_input_cannot_be_left_out(ensemble: Ensemble) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ensemble.post("generate", {"text_input": "hi"})
    with caught.value as answer:
        assert answer.code == 400


def infer(server: Any, model: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    with triton.InferenceServerClient(server.grpc) as client:
        result = client.infer(model, [tensor(name, array) for name, array in inputs.items()])
        return {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}


def test_text_goes_through_ids_and_comes_back(server: Any) -> None:
    rows = [BILINGUAL, "short"]
    queries = np.array([[row.encode()] for row in rows], np.object_)
    ids = infer(server, "preprocessing", {"QUERY": queries, "REQUEST_OUTPUT_LEN": np.full((2, 1), 8, np.int32)})
    assert ids["INPUT_ID"].shape == (2, ids["REQUEST_INPUT_LEN"].max())
    back = infer(
        server,
        "postprocessing",
        {"TOKENS_BATCH": ids["INPUT_ID"][:, np.newaxis, :], "SEQUENCE_LENGTH": ids["REQUEST_INPUT_LEN"]},
    )
    assert [row[0].decode() for row in back["OUTPUT"]] == rows


def test_an_id_outside_the_vocabulary_is_refused(server: Any) -> None:
    inputs = {"TOKENS_BATCH": np.array([[[10**6]]], np.int32), "SEQUENCE_LENGTH": np.array([[1]], np.int32)}
    with pytest.raises(InferenceServerException, match="token id") as caught:
        infer(server, "postprocessing", inputs)
    assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"
