"""Reading request tensors into plain values, and plain values into response tensors."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils

from chainserve.errors import InvalidInput

Array = npt.NDArray[Any]
Value = TypeVar("Value")

TRITON_TO_NUMPY: dict[str, Any] = {
    "TYPE_STRING": np.object_,
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_UINT64": np.uint64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_BOOL": np.bool_,
}


class RequestTensors:
    """The inputs of one Triton request. Every reader answers None for a tensor that was not sent."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def array(self, name: str) -> Array | None:
        """The tensor as numpy, shape as sent (batch dimension first)."""
        tensor = pb_utils.get_input_tensor_by_name(self._request, name)
        return None if tensor is None else cast("Array", tensor.as_numpy())

    def texts(self, name: str) -> list[str] | None:
        array = self.array(name)
        return None if array is None else [_utf8(name, item) for item in array.reshape(-1)]

    def text(self, name: str) -> str | None:
        items = self.texts(name)
        return None if items is None else _one(name, items)

    def integer(self, name: str) -> int | None:
        array = self.array(name)
        return None if array is None else int(_one(name, array.reshape(-1)))

    def number(self, name: str) -> float | None:
        array = self.array(name)
        return None if array is None else float(_one(name, array.reshape(-1)))

    def flag(self, name: str) -> bool | None:
        array = self.array(name)
        return None if array is None else bool(_one(name, array.reshape(-1)))


def required(value: Value | None) -> Value:
    """A value whose tensor the model's configuration does not let a client leave out."""
    assert value is not None, "Triton lets no request without its required inputs through"  # noqa: S101
    return value


def _one(name: str, items: Any) -> Any:
    if len(items) != 1:
        raise InvalidInput(name, f"takes one value, got {len(items)}")
    return items[0]


def _utf8(name: str, item: Any) -> str:
    if isinstance(item, str):
        return item
    try:
        return bytes(item).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(name, "must be UTF-8 text, got bytes that are not") from None


def output(name: str, dtype: str, values: Any, shape: Sequence[int] | None = None) -> Any:
    """A response tensor. Strings are encoded as UTF-8; `shape` includes the batch dimension."""
    array = _encoded(values) if dtype == "TYPE_STRING" else np.asarray(values, dtype=TRITON_TO_NUMPY[dtype])
    return pb_utils.Tensor(name, array if shape is None else array.reshape(shape))


def _encoded(values: Any) -> Array:
    flat = np.asarray(values, dtype=np.object_)
    out = np.empty(flat.shape, dtype=np.object_)
    for index, value in np.ndenumerate(flat):
        out[index] = value.encode("utf-8") if isinstance(value, str) else value
    return out
