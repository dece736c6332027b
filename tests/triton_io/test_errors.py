import pytest
import triton_python_backend_utils as pb_utils

from chainserve.errors import (
    Cancelled,
    ChainserveError,
    DeadlineExceeded,
    EngineDead,
    InvalidInput,
    NotFound,
    StageFailed,
    Unavailable,
    Unsupported,
)
from chainserve.triton_io.errors import error_from_triton, triton_error

KINDS = pb_utils.TritonError


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (InvalidInput("top_p", "too high"), KINDS.INVALID_ARG, "top_p: too high"),
        (NotFound("no index"), KINDS.NOT_FOUND, "no index"),
        (Unsupported("no beams"), KINDS.UNSUPPORTED, "no beams"),
        (Unavailable("full"), KINDS.UNAVAILABLE, "full"),
        (EngineDead("it crashed"), KINDS.UNAVAILABLE, "the engine is not running: it crashed"),
        (DeadlineExceeded("engine"), KINDS.CANCELLED, "deadline exceeded in engine"),
        (Cancelled(), KINDS.CANCELLED, "cancelled by the client"),
        (StageFailed("intent"), KINDS.INTERNAL, "intent: failed"),
        (RuntimeError("secret"), KINDS.INTERNAL, "server: internal error, see the log"),
    ],
)
def test_the_table_of_errors(error: Exception, code: int, text: str) -> None:
    public = triton_error(error)
    assert (public.code(), public.message()) == (code, text)


@pytest.mark.parametrize(
    ("code", "text", "kind", "kept"),
    [
        (KINDS.INVALID_ARG, "seed: too big", InvalidInput, "seed: too big"),
        (KINDS.UNAVAILABLE, "full", Unavailable, "full"),
        (KINDS.CANCELLED, "deadline exceeded in engine", Cancelled, "deadline exceeded in engine"),
        (KINDS.INTERNAL, "secret", StageFailed, "tensorrt_llm: failed"),
        (KINDS.INTERNAL, "secret: with a colon", StageFailed, "tensorrt_llm: failed"),
        (KINDS.INTERNAL, "Failed. Model 'tensorrt_llm' is not ready.", Unavailable, "tensorrt_llm is not ready"),
        (KINDS.INTERNAL, "beam_width: only 1", InvalidInput, "beam_width: only 1"),
        (KINDS.INTERNAL, str(EngineDead("it crashed")), Unavailable, "the engine is not running: it crashed"),
    ],
)
def test_errors_of_called_models(code: int, text: str, kind: type[ChainserveError], kept: str) -> None:
    error = error_from_triton("tensorrt_llm", pb_utils.TritonError(text, code))
    assert type(error) is kind
    assert str(error) == kept
