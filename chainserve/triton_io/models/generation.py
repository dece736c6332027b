"""`generation`: the engine step of chain_ensemble: one answer a request, with what is known of its question."""

import uuid
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from chainserve.triton_io.calls import Response
from chainserve.triton_io.contract import CARRIED, GENERATION, TENSORRT_LLM
from chainserve.triton_io.engine_calls import EngineCalls
from chainserve.triton_io.service import DecoupledModel, RequestSender
from chainserve.triton_io.tensors import RequestTensors

PLACES = 128
ENGINE_INPUTS = tuple({tensor.name for tensor in GENERATION.inputs} & {tensor.name for tensor in TENSORRT_LLM.inputs})


class GenerationModel(DecoupledModel):
    def initialize(self, args: dict[str, Any]) -> None:  # noqa: ARG002 Triton's signature
        self.start("generation", workers=PLACES)
        self._engine = EngineCalls(self.loop)

    async def answer(self, request: Any, sender: RequestSender) -> None:
        tensors = RequestTensors(request)
        inputs = {name: _first_row(tensors.array(name)) for name in ENGINE_INPUTS}
        answers = [each async for each in self._engine.responses(inputs, f"generation-{uuid.uuid4().hex}")]
        sender.close([*_generated(answers[-1]), *_carried(tensors)])


def _first_row(array: Any) -> Any:
    return None if array is None else array[0]


def _generated(answer: Response) -> list[Any]:
    return [pb_utils.Tensor(name, answer.required(name)) for name in ("output_ids", "sequence_length")]


def _carried(tensors: RequestTensors) -> list[Any]:
    return [pb_utils.Tensor(tensor.name, np.asarray(tensors.array(tensor.name))) for tensor in CARRIED]
