"""The chain's request tensors as the fields that admission validates."""

from typing import Any

from chainserve.errors import InvalidInput
from chainserve.triton_io.contract import CHAIN, Tensor
from chainserve.triton_io.tensors import RequestTensors

_READERS = {
    "TYPE_STRING": RequestTensors.text,
    "TYPE_INT32": RequestTensors.integer,
    "TYPE_UINT64": RequestTensors.integer,
    "TYPE_FP32": RequestTensors.number,
    "TYPE_BOOL": RequestTensors.flag,
}


def chain_fields(tensors: RequestTensors) -> dict[str, Any]:
    """Every input of `chain` by name; None where it was not sent.

    Raises:
        InvalidInput: more than one value where one is taken, or text that is not UTF-8.
    """
    fields = {tensor.name: _read(tensors, tensor) for tensor in CHAIN.inputs}
    return _without_empty_messages(fields)


def _read(tensors: RequestTensors, tensor: Tensor) -> Any:
    if tensor.dims == (-1,):
        return tensors.texts(tensor.name)
    return _READERS[tensor.dtype](tensors, tensor.name)


def _without_empty_messages(fields: dict[str, Any]) -> dict[str, Any]:
    """A client that always sends every input sends "" for messages it does not have."""
    if fields["messages"] == "" and fields["text_input"] is None:
        raise InvalidInput("messages", "is empty")
    return {**fields, "messages": fields["messages"] or None}
