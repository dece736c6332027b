from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton_python_backend_utils as pb_utils

from chainserve.errors import NotFound
from chainserve.triton_io.models.intent import IntentModel

REPOSITORY = Path(__file__).parents[3] / "model_repository"


def _request(*texts: bytes) -> Any:
    return pb_utils.Request({"text": np.array([[text] for text in texts], dtype=np.object_)})


def _columns(response: Any) -> dict[str, list[Any]]:
    return {tensor.name(): tensor.as_numpy().reshape(-1).tolist() for tensor in response.output_tensors}


@pytest.fixture(scope="module")
def model() -> IntentModel:
    model = IntentModel()
    model.initialize({"model_repository": str(REPOSITORY / "intent"), "model_version": "1"})
    return model


def test_each_request_gets_its_own_rows(model: IntentModel) -> None:
    first, second = model.execute([_request(b"play some jazz", "今天天气怎么样".encode()), _request(b"")])
    assert _columns(first)["intent"] == [b"play_music", b"weather"]
    assert _columns(first)["route"] == [b"home", b"utility"]
    assert _columns(second) == {"intent": [b""], "route": [b"default"], "confidence": [0.0]}
    assert all(tensor.as_numpy().shape == (2, 1) for tensor in first.output_tensors)


def test_text_that_is_not_utf8_fails_alone(model: IntentModel) -> None:
    bad, good = model.execute([_request(b"\xff\xfe"), _request(b"tell me a joke")])
    assert bad.error.code() == pb_utils.TritonError.INVALID_ARG
    assert bad.error.message().startswith("text: must be UTF-8")
    assert _columns(good)["intent"] == [b"tell_joke"]


def test_a_version_folder_without_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"intent\.toml"):
        IntentModel().initialize({"model_repository": str(tmp_path), "model_version": "1"})
