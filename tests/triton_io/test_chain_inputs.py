import numpy as np
import pytest
import triton_python_backend_utils as pb_utils

from chainserve.admission.request import RequestFields
from chainserve.errors import InvalidInput
from chainserve.triton_io.chain_inputs import chain_fields
from chainserve.triton_io.contract import CHAIN
from chainserve.triton_io.tensors import RequestTensors


def fields(**arrays: np.ndarray) -> dict[str, object]:
    return chain_fields(RequestTensors(pb_utils.Request(arrays)))


def strings(*values: bytes) -> np.ndarray:
    return np.array([values], dtype=np.object_)


def test_admission_knows_every_input_of_the_contract_and_no_other() -> None:
    assert set(RequestFields.model_fields) == {tensor.name for tensor in CHAIN.inputs}


def test_values_by_name() -> None:
    read = fields(text_input=strings(b"hi"), stop_words=strings(b"a", b"b"), max_tokens=np.array([[5]]))
    assert (read["text_input"], read["stop_words"], read["max_tokens"]) == ("hi", ["a", "b"], 5)
    assert read["seed"] is None


def test_empty_messages_are_no_messages_beside_a_text() -> None:
    assert fields(text_input=strings(b"hi"), messages=strings(b""))["messages"] is None


def test_empty_messages_alone_are_an_error() -> None:
    with pytest.raises(InvalidInput, match="messages: is empty"):
        fields(messages=strings(b""))
