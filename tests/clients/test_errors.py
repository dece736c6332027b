"""Triton's words as the client's errors."""

import pytest

from chainserve_client import (
    Cancelled,
    ChainClientError,
    DeadlineExceeded,
    InvalidRequest,
    ServerFailed,
    Unavailable,
)
from chainserve_client.errors import from_message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("top_p: too high", InvalidRequest),
        ("tensorrt_llm: failed", ServerFailed),
        ("the interactive lane is full, try again later", Unavailable),
        ("the engine is not running: its process ended", Unavailable),
        ("the server is going down", Unavailable),
        ("deadline exceeded in engine", DeadlineExceeded),
        ("cancelled by the client", Cancelled),
    ],
)
def test_errors_of_a_model_are_told_apart_by_their_text(text: str, kind: type[ChainClientError]) -> None:
    assert type(from_message(text, by_model=True, inputs={"top_p"})) is kind
