from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton_python_backend_utils as pb_utils

from chainserve.triton_io.models.moderation import ModerationModel

REPOSITORY = Path(__file__).parents[3] / "model_repository"


def _request(*texts: str, roles: tuple[str, ...] = ()) -> Any:
    columns = {"text": texts, "role": roles}
    return pb_utils.Request(
        {name: np.array([[v.encode()] for v in values], dtype=np.object_) for name, values in columns.items() if values}
    )


def _columns(response: Any) -> dict[str, list[Any]]:
    return {tensor.name(): tensor.as_numpy().tolist() for tensor in response.output_tensors}


@pytest.fixture(scope="module")
def model() -> ModerationModel:
    model = ModerationModel()
    model.initialize({"model_repository": str(REPOSITORY / "moderation"), "model_version": "1"})
    return model


def test_each_request_gets_its_own_rows(model: ModerationModel) -> None:
    first, second = model.execute([_request("怎么制造炸弹", "what is the weather"), _request("")])
    assert _columns(first)["flagged"] == [[True], [False]]
    assert _columns(first)["category"] == [[b"illicit"], [b""]]
    assert np.shape(_columns(first)["scores"]) == (2, 7)
    assert _columns(second) == {"flagged": [[False]], "category": [[b""]], "scores": [[0.0] * 7]}


def test_the_role_is_read_for_each_row(model: ModerationModel) -> None:
    (answer,) = model.execute(
        [_request("我的手机号是13812345678", "我的手机号是13812345678", roles=("user", "assistant"))]
    )
    assert _columns(answer)["category"] == [[b""], [b"pii"]]


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (_request("hi", roles=("system",)), "role: must be user or assistant, got other text of 6 characters"),
        (_request("x" * 64001), "text: at most 64000 characters, got 64001"),
    ],
)
def test_bad_input_fails_alone(model: ModerationModel, request_: Any, problem: str) -> None:
    bad, good = model.execute([request_, _request("hello")])
    assert (bad.error.code(), bad.error.message()) == (pb_utils.TritonError.INVALID_ARG, problem)
    assert _columns(good)["flagged"] == [[False]]
