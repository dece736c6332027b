"""`tensorrt_llm` on the CPU engine. Decoupled: `execute` hands requests to the engine's thread and returns."""

from dataclasses import replace
from typing import Any

from chainserve.config import load_toml
from chainserve.engine.cpu.engine import CpuEngine
from chainserve.engine.cpu.limits import Limits
from chainserve.engine.cpu.openvino_pipeline import OpenVinoPipeline
from chainserve.engine.cpu.sequence import Submission
from chainserve.engine.cpu.settings import EngineSettings
from chainserve.engine.manifest import EngineManifest
from chainserve.errors import InvalidInput
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.engine_answers import Reply, SequenceAnswer
from chainserve.triton_io.engine_inputs import EngineRow, asks_to_stop, engine_rows
from chainserve.triton_io.environment import engine_dir, version_dir
from chainserve.triton_io.in_flight import InFlight
from chainserve.triton_io.tensors import RequestTensors


class TensorRtLlmModel:
    def initialize(self, args: dict[str, Any]) -> None:
        home = engine_dir(args)
        settings = load_toml(version_dir(args) / "engine.toml", EngineSettings)
        manifest = EngineManifest.load(home)
        tokenizer = Tokenizer.load(home)
        self._limits = Limits(manifest.vocab_size, manifest.context_length)
        self._end_ids = manifest.eos_ids
        self._in_flight = InFlight("tensorrt_llm")
        self._engine = CpuEngine(OpenVinoPipeline(home, settings), tokenizer.token_bytes)
        self._engine.start()

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            self._in_flight.enter()
            reply = Reply(request.get_response_sender(), 0, self._in_flight.leave)
            try:
                self._accept(request, reply)
            except Exception as error:  # noqa: BLE001 whatever broke, the client gets an answer
                reply.fail(error)

    def finalize(self) -> None:
        self._engine.stop()

    def _accept(self, request: Any, reply: Reply) -> None:
        tensors = RequestTensors(request)
        if asks_to_stop(tensors):
            self._stop(request.request_id(), reply)
            return
        rows = engine_rows(tensors, self._end_ids)
        for row in rows:
            self._limits.check(row.request)
        reply.open_sequences = sum(row.num_sequences for row in rows)
        submissions = [
            s for place, row in enumerate(rows) for s in _submissions(request.request_id(), reply, row, place)
        ]
        self._engine.submit(*submissions)

    def _stop(self, request_id: str, reply: Reply) -> None:
        """Answered with an empty final response; the running request ends with what it has."""
        if not request_id:
            raise InvalidInput("stop", "needs the request_id of the request to stop")
        self._engine.cancel(request_id)
        reply.close_empty()


def _submissions(request_id: str, reply: Reply, row: EngineRow, place: int) -> list[Submission]:
    return [
        Submission(request_id, _seeded(row, index), SequenceAnswer(reply, row, place, index))
        for index in range(row.num_sequences)
    ]


def _seeded(row: EngineRow, index: int) -> Any:
    decoding = row.request.decoding
    return replace(row.request, decoding=replace(decoding, seed=(decoding.seed + index) % (1 << 64)))
