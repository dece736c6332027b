import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton_python_backend_utils as pb_utils
from tiny_gguf import tiny_metadata

from chainserve.engine.manifest import EngineManifest
from chainserve.environment import ENGINE_DIR
from chainserve.messages import Context, Passage
from chainserve.triton_io.context_tensors import context_to_tensors
from chainserve.triton_io.models.prompt_assembly import PromptAssemblyModel
from chainserve_build.gguf_tokenizer import save_tokenizer

ROOT = Path(__file__).parents[3]
ARGS = {"model_repository": str(ROOT / "model_repository" / "prompt_assembly"), "model_version": "1"}
CONTEXT_LENGTH = 600
CAPITAL = "What is the capital of France?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> PromptAssemblyModel:
    engine = tmp_path_factory.mktemp("engine")
    save_tokenizer(tiny_metadata(), engine)
    EngineManifest(
        name="tiny",
        profile="cpu",
        precision="int8",
        vocab_size=300,
        eos_ids=(2,),
        context_length=CONTEXT_LENGTH,
        source="file:tiny",
        source_sha256="0" * 64,
        files={},
        versions={},
    ).save(engine)
    model = PromptAssemblyModel()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENGINE_DIR, str(engine))
        model.initialize(ARGS)
    return model


def _request(*questions: str, max_tokens: int = 8, **more: Any) -> Any:
    columns = {"text_input": list(questions), "max_tokens": [max_tokens] * len(questions)}
    columns |= {name: [value] * len(questions) for name, value in more.items()}
    return pb_utils.Request({name: _array(column) for name, column in columns.items()})


def _array(column: list[Any]) -> Any:
    kinds = {bool: np.bool_, int: np.int32}
    if isinstance(column[0], str):
        return np.array([[text.encode()] for text in column], dtype=np.object_)
    return np.array(column, dtype=kinds[type(column[0])]).reshape(-1, 1)


def _columns(response: Any) -> dict[str, list[Any]]:
    assert not response.has_error(), response.error.message()
    assert all(tensor.as_numpy().ndim == 2 for tensor in response.output_tensors)
    return {tensor.name(): tensor.as_numpy()[:, 0].tolist() for tensor in response.output_tensors}


def _prompt(model: PromptAssemblyModel, *questions: str, **more: Any) -> str:
    (response,) = model.execute([_request(*questions, **more)])
    return str(_columns(response)["prompt"][0].decode())


def _error(model: PromptAssemblyModel, *questions: str, **more: Any) -> str:
    (response,) = model.execute([_request(*questions, **more)])
    assert response.error.code() == pb_utils.TritonError.INVALID_ARG
    return str(response.error.message())


def test_rows_of_several_requests(model: PromptAssemblyModel) -> None:
    first, second = model.execute([_request(CAPITAL, "法国的首都是哪里？"), _request("hi", max_tokens=3)])
    columns = _columns(first)
    assert columns["prompt"][0].decode().startswith("<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n")
    assert columns["prompt"][1].decode().startswith("<|im_start|>system\n你是一个乐于助人的助手。")
    assert columns["request_output_len"] == [8, 8]
    assert columns["exclude_input_in_output"] == [True, True]
    assert columns["answer_role"] == [b"assistant"] * 2
    assert _columns(second)["request_output_len"] == [3]


def test_what_the_other_models_found_is_in_it(model: PromptAssemblyModel) -> None:
    found = context_to_tensors([Context("Li", (), (Passage("Paris is it.", "a.md", 0.5),))])
    context = {tensor.name(): tensor.as_numpy()[0, 0].decode() for tensor in found}
    prompt = _prompt(model, CAPITAL, route="kitchen", **context)
    assert "for cooking" in prompt
    assert "About the user: Li" in prompt
    assert "<reference>\n- Paris is it.\n</reference>" in prompt


def test_a_flagged_question_is_not_in_the_prompt(model: PromptAssemblyModel) -> None:
    (response,) = model.execute([_request("secret " * 1000, flagged=True, max_tokens=100)])
    columns = _columns(response)
    assert b"secret" not in columns["prompt"][0]
    assert columns["request_output_len"] == [1]
    assert "secret" in _prompt(model, "secret", flagged=False)


def test_messages_in_the_openai_form(model: PromptAssemblyModel) -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": CAPITAL},
    ]
    prompt = _prompt(model, CAPITAL, messages=json.dumps(messages))
    assert prompt.startswith("<|im_start|>system\nYou are a helpful assistant.\n\nBe kind.<|im_end|>\n")
    assert prompt.endswith(f"<|im_start|>user\n{CAPITAL}<|im_end|>\n<|im_start|>assistant")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"stream": True}, "stream: chain_ensemble answers in one response; use chain"),
        ({"stream": True, "flagged": True}, "stream: chain_ensemble answers in one response; use chain"),
        ({"max_tokens": 0}, "max_tokens: must be at least 1"),
        ({"max_tokens": CONTEXT_LENGTH}, "max_tokens: must be below the context length of 600, got 600"),
        ({"messages": "{"}, "messages: not JSON"),
        ({"history": "{"}, "history: invalid json"),
        ({"messages": '[{"role": "user", "content": "How do I hurt someone?"}]'}, "messages: beside system messages"),
        (
            {"messages": json.dumps([{"role": "user", "content": "x"}, {"role": "user", "content": CAPITAL}])},
            "messages: beside system messages",
        ),
        ({"messages": '[{"role": "system", "content": "x"}]'}, "messages: beside system messages"),
    ],
)
def test_what_cannot_be_served_is_named(model: PromptAssemblyModel, more: dict[str, Any], problem: str) -> None:
    assert _error(model, CAPITAL, **more).startswith(problem)


def test_an_empty_question(model: PromptAssemblyModel) -> None:
    assert _error(model, "  ") == "text_input: is empty"


def test_a_question_that_does_not_fit_fails_alone(model: PromptAssemblyModel) -> None:
    long, short = model.execute([_request("x" * 1000), _request("hi")])
    assert long.error.message().startswith("text_input: the question and the system prompt are 1")
    assert long.error.message().endswith("max_tokens adds 8; the context length is 600")
    assert not short.has_error()
