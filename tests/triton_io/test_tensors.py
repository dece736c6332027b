import numpy as np
import pytest
import triton_python_backend_utils as pb_utils

from chainserve.errors import InvalidInput
from chainserve.triton_io.tensors import RequestTensors, output


def tensors(**arrays: np.ndarray) -> RequestTensors:
    return RequestTensors(pb_utils.Request(arrays))


def strings(*values: bytes) -> np.ndarray:
    return np.array([values], dtype=np.object_)


def test_plain_values() -> None:
    request = tensors(a=strings("你好".encode()), n=np.array([[7]]), x=np.array([[0.5]]), f=np.array([[True]]))
    assert (request.text("a"), request.integer("n"), request.number("x"), request.flag("f")) == ("你好", 7, 0.5, True)


def test_what_was_not_sent_is_none() -> None:
    request = tensors()
    assert [request.text("a"), request.texts("a"), request.integer("a"), request.flag("a")] == [None] * 4


def test_bytes_that_are_not_text_are_named() -> None:
    with pytest.raises(InvalidInput, match="text_input: must be UTF-8"):
        tensors(text_input=strings(b"\xff")).text("text_input")


def test_two_values_where_one_is_taken() -> None:
    with pytest.raises(InvalidInput, match="seed: takes one value, got 2"):
        tensors(seed=np.array([[1, 2]])).integer("seed")


def test_a_string_output_is_utf8_with_its_shape() -> None:
    tensor = output("text_output", "TYPE_STRING", "你好", (1, 1))
    assert tensor.as_numpy().tolist() == [["你好".encode()]]


def test_a_number_output_has_the_type_of_the_contract() -> None:
    array = output("num_output_tokens", "TYPE_INT32", 3, (1, 1)).as_numpy()
    assert (array.dtype, array.shape) == (np.int32, (1, 1))
