import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton_python_backend_utils as pb_utils

from chainserve.context.interfaces import Session
from chainserve.context.store import Store
from chainserve.environment import DATA_DIR
from chainserve.errors import InvalidInput
from chainserve.triton_io.models.context import ContextModel
from chainserve_build.index import build_index

ROOT = Path(__file__).parents[3]
ARGS = {"model_repository": str(ROOT / "model_repository" / "context"), "model_version": "1"}


def _request(*texts: str, **caller: str) -> Any:
    columns = {"text": list(texts)} | {name: [value] * len(texts) for name, value in caller.items()}
    return pb_utils.Request(
        {name: np.array([[text.encode()] for text in column], dtype=np.object_) for name, column in columns.items()}
    )


def _columns(response: Any) -> dict[str, list[Any]]:
    return {tensor.name(): [item.decode() for item in tensor.as_numpy()[:, 0]] for tensor in response.output_tensors}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DATA_DIR, str(tmp_path))
    return tmp_path


def _loaded() -> ContextModel:
    model = ContextModel()
    model.initialize(ARGS)
    return model


def test_each_request_gets_what_is_its_own(data: Path) -> None:
    build_index(ROOT / "corpus", data / "index", "use", 400)
    store = Store(data)
    store.append_turn(Session("acme", "li", "s1"), "你好", "您好")
    store.set_profile("acme", "li", "素食")
    model = _loaded()
    responses = model.execute(
        [
            _request("What is the capital of France?", "你好", tenant="acme", user_id="li", session_id="s1"),
            _request("法国的首都是哪里？", tenant="other", user_id="li", session_id="s1"),
            _request("hi"),
        ]
    )
    mine, other, nobody = map(_columns, responses)
    assert mine["profile"] == ["素食"] * 2
    assert json.loads(mine["history"][0]) == [
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "您好"},
    ]
    (passage,) = json.loads(mine["passages"][0])
    assert "Paris" in passage["text"]
    assert passage["source"] == "geography/france.md"
    assert 0.28 <= passage["score"] <= 1
    assert mine["passages"][1] == "[]"
    assert (other["profile"], other["history"]) == ([""], ["[]"])
    assert "Paris" in other["passages"][0]
    assert nobody == {"profile": [""], "history": ["[]"], "passages": ["[]"]}
    model.finalize()


def test_without_an_index_there_are_no_passages_and_no_encoder(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chainserve.triton_io.models.context.load_encoder", None)
    monkeypatch.setattr(pb_utils.Logger, "lines", [])
    (response,) = _loaded().execute([_request("What is the capital of France?")])
    assert _columns(response) == {"profile": [""], "history": ["[]"], "passages": ["[]"]}
    assert pb_utils.Logger.lines == [
        f"context: no index in {data / 'index'}, there will be no passages: `chainserve-build index`"
    ]


def test_a_damaged_index_stops_the_model(data: Path) -> None:
    build_index(ROOT / "corpus", data / "index", "use", 400)
    (data / "index" / "vectors.npy").write_bytes(b"x")
    with pytest.raises(InvalidInput, match="vectors.npy"):
        _loaded()


def test_text_that_is_not_utf8_fails_alone(data: Path) -> None:
    bad = pb_utils.Request({"text": np.array([[b"\xff"]], dtype=np.object_)})
    first, second = _loaded().execute([bad, _request("hi")])
    assert first.error.message().startswith("text: must be UTF-8")
    assert not second.has_error()
