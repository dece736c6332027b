"""The simulated guard, classifier and context: right answers after a chosen time, or a chosen fault."""

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.contract import CONTRACTS
from chainserve.triton_io.environment import version_dir
from chainserve.triton_io.tensors import RequestTensors, output, required
from chainserve_simulation.settings import FLAG_MARKER, Live, StageSettings

_POLL_S = 0.02


class SimulatedStage:
    """`name` is the model it stands for; `answer` gives the outputs of one text."""

    name: str

    def initialize(self, args: dict[str, Any]) -> None:
        self._live = Live(version_dir(args) / "stage.toml", StageSettings)

    def execute(self, requests: list[Any]) -> list[Any]:
        settings = self._live.now()
        if settings.fault == "malformed":
            return [pb_utils.InferenceResponse(output_tensors=[]) for _ in requests]
        return run_batch(requests, _decode, self._compute, self._encode)

    def _compute(self, rows: list[tuple[str, str]]) -> list[dict[str, Any]]:
        settings = self._live.now()
        fail(settings)
        time.sleep(max(cost_ms(settings, text, role) for text, role in rows) / 1e3)
        self._wait_while_hung()
        return [self.answer(text) for text, _ in rows]

    def _wait_while_hung(self) -> None:
        while self._live.now().fault == "hung":
            time.sleep(_POLL_S)

    def answer(self, text: str) -> dict[str, Any]:
        raise NotImplementedError

    def _encode(self, rows: Sequence[dict[str, Any]]) -> list[Any]:
        return [
            output(tensor.name, tensor.dtype, [row[tensor.name] for row in rows], (len(rows), -1))
            for tensor in CONTRACTS[self.name].outputs
        ]


class SimulatedModeration(SimulatedStage):
    name = "moderation"

    def answer(self, text: str) -> dict[str, Any]:
        flagged = FLAG_MARKER in text
        return {"flagged": flagged, "category": "violence" if flagged else "", "scores": [float(flagged)]}


class SimulatedIntent(SimulatedStage):
    name = "intent"

    def answer(self, text: str) -> dict[str, Any]:  # noqa: ARG002 the same for every text
        return {"intent": "weather", "route": "default", "confidence": 0.9}


class SimulatedContext(SimulatedStage):
    name = "context"

    def answer(self, text: str) -> dict[str, Any]:  # noqa: ARG002 the same for every text
        return {"profile": "", "history": "[]", "passages": "[]"}


def cost_ms(settings: StageSettings, text: str, role: str) -> float:
    """What one text costs: a fixed part, and for answers a part in proportion to their length."""
    if settings.fault == "slow":
        return settings.slow_ms
    if role != "assistant":
        return settings.latency_ms
    fixed = settings.latency_ms if settings.answer_latency_ms is None else settings.answer_latency_ms
    return fixed + settings.ms_per_char * len(text)


def fail(settings: StageSettings) -> None:
    if settings.fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if settings.fault == "error":
        raise RuntimeError("a simulated fault")


def _decode(tensors: RequestTensors) -> list[tuple[str, str]]:
    texts = required(tensors.texts("text"))
    roles = tensors.texts("role") or ["user"] * len(texts)
    return list(zip(texts, roles, strict=True))
