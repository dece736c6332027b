"""From our errors to Triton's, and to the log."""

import traceback
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.errors import Cancelled, ChainserveError, InvalidInput, StageFailed, Unavailable, public_error


def triton_error(error: BaseException) -> Any:
    """The TritonError a client gets. An error that is not ours leaves its traceback in the log only."""
    if not isinstance(error, ChainserveError):
        pb_utils.Logger.log_error("".join(traceback.format_exception(error)))
    public = public_error(error)
    return pb_utils.TritonError(str(public), getattr(pb_utils.TritonError, public.code))


def error_response(error: BaseException) -> Any:
    return pb_utils.InferenceResponse(error=triton_error(error))


def error_from_triton(model: str, error: Any) -> ChainserveError:
    """The error of a called model as one of ours. What a client can mend keeps its text; the rest goes to the log."""
    kinds = pb_utils.TritonError
    text = error.message()
    if error.code() == kinds.INVALID_ARG:
        field, _, problem = text.partition(": ")
        return InvalidInput(field, problem)
    if error.code() == kinds.UNAVAILABLE:
        return Unavailable(text)
    if error.code() == kinds.CANCELLED:
        return Cancelled(text)
    pb_utils.Logger.log_error(f"{model}: {text}")
    return StageFailed(model)
