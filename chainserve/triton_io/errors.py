"""From our errors to Triton's, and to the log."""

import traceback
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.errors import (
    Cancelled,
    ChainserveError,
    EngineDead,
    InvalidInput,
    StageFailed,
    Unavailable,
    public_error,
)
from chainserve.triton_io.contract import CONTRACTS


def triton_error(error: BaseException) -> Any:
    """The TritonError a client gets. An error that is not ours leaves its traceback in the log only."""
    if not isinstance(error, ChainserveError):
        pb_utils.Logger.log_error("".join(traceback.format_exception(error)))
    public = public_error(error)
    return pb_utils.TritonError(str(public), getattr(pb_utils.TritonError, public.code))


def error_response(error: BaseException) -> Any:
    return pb_utils.InferenceResponse(error=triton_error(error))


def error_from_triton(model: str, error: Any) -> ChainserveError:
    """The error of a called model as one of ours. What a client can mend keeps its text; the rest goes to the log.

    Release 24.10 loses the code of an error between models: every one arrives as INTERNAL. Our own models say what is
    wrong in a known form, so the form decides where the code does not.
    """
    kinds = pb_utils.TritonError
    text, code = error.message(), error.code()
    field, _, problem = text.partition(": ")
    if code == kinds.INVALID_ARG or (problem and field in _inputs_of(model)):
        return InvalidInput(field, problem)
    if code == kinds.UNAVAILABLE or text.startswith(EngineDead.BEGINNING):
        return Unavailable(text)
    if text.endswith("is not ready."):
        return Unavailable(f"{model} is not ready")
    if code == kinds.CANCELLED:
        return Cancelled(text)
    pb_utils.Logger.log_error(f"{model}: {text}")
    return StageFailed(model)


def _inputs_of(model: str) -> set[str]:
    return {tensor.name for tensor in CONTRACTS[model].inputs}
