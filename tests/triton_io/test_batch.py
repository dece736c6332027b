from collections.abc import Sequence
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from chainserve.errors import InvalidInput
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.tensors import RequestTensors, output


def decode(tensors: RequestTensors) -> list[int]:
    array = tensors.array("n")
    assert array is not None
    if (array < 0).any():
        raise InvalidInput("n", "must be at least 0, got a negative number")
    return [int(value) for value in array.reshape(-1)]


def encode(rows: Sequence[int]) -> list[Any]:
    return [output("double", "TYPE_INT32", rows, (len(rows), 1))]


def ask(*rows: list[int], compute: Any = lambda numbers: [2 * n for n in numbers]) -> list[Any]:
    requests = [pb_utils.Request({"n": np.array(values)}) for values in rows]
    return run_batch(requests, decode, compute, encode)


def test_every_request_gets_its_own_rows_of_one_batch() -> None:
    seen: list[list[int]] = []

    def compute(numbers: list[int]) -> list[int]:
        seen.append(numbers)
        return [2 * n for n in numbers]

    answers = [r.output_tensors[0].as_numpy().tolist() for r in ask([1, 2], [3], compute=compute)]
    assert answers == [[[2], [4]], [[6]]]
    assert seen == [[1, 2, 3]]


def test_a_bad_request_does_not_touch_the_others() -> None:
    good, bad = ask([1], [-1])
    assert good.output_tensors[0].as_numpy().tolist() == [[2]]
    assert bad.error.code() == pb_utils.TritonError.INVALID_ARG
    assert bad.error.message() == "n: must be at least 0, got a negative number"


def test_a_broken_model_answers_everybody_without_its_secrets() -> None:
    def compute(_: list[int]) -> list[int]:
        raise RuntimeError("secret")

    answers = ask([1], [-1], compute=compute)
    assert [a.error.code() for a in answers] == [pb_utils.TritonError.INTERNAL, pb_utils.TritonError.INVALID_ARG]
    assert "secret" not in answers[0].error.message()
    assert "secret" in pb_utils.Logger.lines[-1]
