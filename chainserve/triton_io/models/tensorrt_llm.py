"""`tensorrt_llm` on the CPU engine. Decoupled: `execute` hands requests to the engine and returns."""

from dataclasses import replace
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.config import load_toml
from chainserve.engine.cpu.engine import CpuEngine
from chainserve.engine.cpu.limits import Limits
from chainserve.engine.cpu.link import EngineProcess
from chainserve.engine.cpu.requests import SequenceRequest
from chainserve.engine.cpu.sequence import Submission
from chainserve.engine.cpu.settings import EngineSettings
from chainserve.engine.manifest import EngineManifest
from chainserve.errors import EngineDead, InvalidInput
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.engine_answers import Reply, SequenceAnswer
from chainserve.triton_io.engine_inputs import EngineRow, asks_to_stop, engine_rows
from chainserve.triton_io.engine_metrics import EngineMetrics
from chainserve.triton_io.environment import engine_dir, version_dir
from chainserve.triton_io.in_flight import InFlight, release_metrics
from chainserve.triton_io.tensors import RequestTensors

_SEEDS = 1 << 64


class TensorRtLlmModel:
    def initialize(self, args: dict[str, Any]) -> None:
        self._name = args["model_name"]
        home = engine_dir(args)
        settings = load_toml(version_dir(args) / "engine.toml", EngineSettings)
        manifest = EngineManifest.load(home)
        self._tokenizer = Tokenizer.load(home)
        self._limits = Limits(manifest.vocab_size, min(manifest.context_length, settings.kv_tokens))
        self._in_flight = InFlight(self._name)
        self._stopping = False
        self._process = EngineProcess(home, settings)
        self._engine = self._start(settings)

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            self._in_flight.enter()
            reply = Reply(request.get_response_sender(), self._in_flight.leave)
            try:
                self._accept(request, reply)
            except Exception as error:  # noqa: BLE001 whatever broke, the client gets an answer
                reply.fail(error)

    def finalize(self) -> None:
        self._stopping = True
        self._process.close()
        self._engine.join()
        release_metrics(self)

    def _start(self, settings: EngineSettings) -> CpuEngine:
        engine = CpuEngine(
            self._process.link,
            self._tokenizer.token_bytes,
            settings.max_waiting,
            on_step=EngineMetrics().export,
            on_death=self._leave,
        )
        engine.start()
        return engine

    def _leave(self, death: EngineDead) -> None:
        """A model without an engine is not ready, and unloading it is the one way to tell Triton 24.10 so.

        Triton allows that in its explicit model control mode only; otherwise every request is answered with the error.
        """
        if self._stopping:
            return
        pb_utils.Logger.log_error(f"{self._name}: {death}; unloading the model")
        try:
            pb_utils.unload_model(self._name)
        except pb_utils.TritonModelException as error:
            pb_utils.Logger.log_error(f"{self._name} stays loaded: {error}")

    def _accept(self, request: Any, reply: Reply) -> None:
        tensors = RequestTensors(request)
        if asks_to_stop(tensors):
            self._stop(request.request_id(), reply)
            return
        rows = engine_rows(tensors, self._tokenizer)
        for row in rows:
            self._limits.check(row.request)
        reply.open_sequences = sum(row.num_sequences for row in rows)
        self._engine.submit(*_submissions(request.request_id(), reply, rows))

    def _stop(self, request_id: str, reply: Reply) -> None:
        """Answered with an empty final response at once; the running request ends with what it has."""
        if not request_id:
            raise InvalidInput("stop", "needs the request_id of the request to stop")
        self._engine.cancel(request_id)
        reply.close_empty()


def _submissions(request_id: str, reply: Reply, rows: list[EngineRow]) -> list[Submission]:
    return [
        Submission(
            request_id, _seeded(row, number), SequenceAnswer(reply, row, _indices(place, len(rows), row, number))
        )
        for place, row in enumerate(rows)
        for number in range(row.num_sequences)
    ]


def _indices(place: int, rows: int, row: EngineRow, number: int) -> dict[str, int]:
    """As NVIDIA's backend: each index only where there is more than one to tell apart."""
    batch = {"batch_index": place} if rows > 1 else {}
    return batch | ({"sequence_index": number} if row.num_sequences > 1 else {})


def _seeded(row: EngineRow, number: int) -> SequenceRequest:
    decoding = row.request.decoding
    return replace(row.request, decoding=replace(decoding, seed=(decoding.seed + number) % _SEEDS))
