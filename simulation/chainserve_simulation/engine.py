"""The simulated engine: the tensors of tensorrt_llm, tokens at a steady pace, any number of requests at once."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainserve.errors import InvalidInput
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.environment import engine_dir, version_dir
from chainserve.triton_io.service import DecoupledModel, RequestSender
from chainserve.triton_io.tensors import RequestTensors, output, required
from chainserve_simulation.settings import EngineSettings, Live
from chainserve_simulation.stages import fail

_POLL_S = 0.02


@dataclass
class Stream:
    """One running request."""

    request_id: str
    sender: RequestSender
    streaming: bool
    budget: int
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def of(cls, request: Any, sender: RequestSender) -> "Stream":
        tensors = RequestTensors(request)
        budget = required(tensors.integer("request_output_len"))
        return cls(request.request_id(), sender, bool(tensors.flag("streaming")), budget)


class SimulatedEngine(DecoupledModel):
    def initialize(self, args: dict[str, Any]) -> None:
        self._live = Live(version_dir(args) / "stage.toml", EngineSettings)
        self._tokenizer = Tokenizer.load(engine_dir(args))
        self._running: dict[str, Stream] = {}
        self.start("tensorrt_llm", workers=1)

    async def answer(self, request: Any, sender: RequestSender) -> None:
        if RequestTensors(request).flag("stop"):
            self._stop(request.request_id())
            sender.close([])
        else:
            await self._generate(Stream.of(request, sender))

    def _stop(self, request_id: str) -> None:
        if not request_id:
            raise InvalidInput("stop", "needs the request_id of the request to stop")
        if request_id in self._running:
            self._running[request_id].stopped.set()

    async def _generate(self, stream: Stream) -> None:
        settings = self._live.now()
        fail(settings)
        if settings.fault == "malformed":
            stream.sender.close([])
            return
        self._running[stream.request_id] = stream
        try:
            await self._speak(stream, settings)
        finally:
            self._running.pop(stream.request_id, None)

    async def _speak(self, stream: Stream, settings: EngineSettings) -> None:
        start = asyncio.get_running_loop().time()
        first = settings.slow_ms if settings.fault == "slow" else settings.latency_ms
        ids = self._ids(settings.answer, stream.budget)
        for place, number in enumerate(ids[:-1]):
            if await self._stopped(stream, start + (first + place * settings.token_ms) / 1e3):
                stream.sender.close(_outputs([] if stream.streaming else ids[:place]))
                return
            if stream.streaming:
                stream.sender.send(_outputs([number]))
        await self._stopped(stream, start + (first + (len(ids) - 1) * settings.token_ms) / 1e3)
        stream.sender.close(_outputs(ids[-1:] if stream.streaming else ids))

    def _ids(self, answer: str, count: int) -> list[int]:
        ids = self._tokenizer.encode(answer)
        return [ids[place % len(ids)] for place in range(count)]

    async def _stopped(self, stream: Stream, due: float) -> bool:
        """Wait until `due`; True when the request was stopped before."""
        while self._live.now().fault == "hung" and not stream.stopped.is_set():  # noqa: ASYNC110 a file is watched
            await asyncio.sleep(_POLL_S)
        try:
            async with asyncio.timeout_at(due):
                await stream.stopped.wait()
        except TimeoutError:
            return False
        return True


def _outputs(ids: list[int]) -> list[Any]:
    return [
        output("output_ids", "TYPE_INT32", np.asarray(ids, dtype=np.int32), (1, 1, len(ids))),
        output("sequence_length", "TYPE_INT32", [[len(ids)]]),
    ]
