"""The worker loop of the models that answer each request once: many requests in, one batch through the model, out."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import triton_python_backend_utils as pb_utils

from chainserve.triton_io.errors import error_response
from chainserve.triton_io.tensors import RequestTensors

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_batch(
    requests: Sequence[Any],
    decode: Callable[[RequestTensors], Sequence[Item]],
    compute: Callable[[list[Item]], Sequence[Result]],
    encode: Callable[[Sequence[Result]], list[Any]],
) -> list[Any]:
    """Decode every request, compute all rows at once, encode each request's share.

    A request that cannot be decoded gets its own error and does not touch the others.
    """
    decoded = [_attempt(decode, RequestTensors(request)) for request in requests]
    rows = [row for rows in decoded if not isinstance(rows, BaseException) for row in rows]
    try:
        results = list(compute(rows)) if rows else []
    except Exception as error:  # noqa: BLE001 the stub must answer whatever broke
        return [error_response(kept if isinstance(kept, BaseException) else error) for kept in decoded]
    return _share_out(decoded, results, encode)


def _attempt(decode: Callable[[RequestTensors], Sequence[Item]], tensors: RequestTensors) -> Any:
    try:
        return decode(tensors)
    except Exception as error:  # noqa: BLE001 kept, and answered to the request it belongs to
        return error


def _share_out(decoded: list[Any], results: list[Result], encode: Callable[[Sequence[Result]], list[Any]]) -> list[Any]:
    responses, taken = [], 0
    for rows in decoded:
        if isinstance(rows, BaseException):
            responses.append(error_response(rows))
            continue
        share = results[taken : taken + len(rows)]
        taken += len(rows)
        responses.append(pb_utils.InferenceResponse(output_tensors=encode(share)))
    return responses
