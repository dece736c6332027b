"""From our errors to Triton's, and to the log."""

import traceback
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.errors import ChainserveError, public_error


def triton_error(error: BaseException) -> Any:
    """The TritonError a client gets. An error that is not ours leaves its traceback in the log only."""
    if not isinstance(error, ChainserveError):
        pb_utils.Logger.log_error("".join(traceback.format_exception(error)))
    public = public_error(error)
    return pb_utils.TritonError(str(public), getattr(pb_utils.TritonError, public.code))


def error_response(error: BaseException) -> Any:
    return pb_utils.InferenceResponse(error=triton_error(error))
