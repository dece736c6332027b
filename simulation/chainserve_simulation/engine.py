"""The simulated engine: the tensors of tensorrt_llm, tokens at a steady pace, any number of requests at once."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from chainserve.errors import InvalidInput
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.environment import engine_dir, version_dir
from chainserve.triton_io.errors import error_response
from chainserve.triton_io.in_flight import InFlight
from chainserve.triton_io.loop import EventLoopThread
from chainserve.triton_io.tensors import RequestTensors, output, required
from chainserve_simulation.settings import EngineSettings, Live
from chainserve_simulation.stages import fail

_FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
_POLL_S = 0.02


@dataclass
class Stream:
    """One running request."""

    request_id: str
    sender: Any
    streaming: bool
    prompt: int
    budget: int
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def send(self, ids: list[int], *, final: bool) -> None:
        tensors = [
            output("output_ids", "TYPE_INT32", np.asarray(ids, dtype=np.int32), (1, 1, len(ids))),
            output("sequence_length", "TYPE_INT32", [[len(ids)]]),
        ]
        self.sender.send(pb_utils.InferenceResponse(output_tensors=tensors), flags=_FINAL if final else 0)


class SimulatedEngine:
    def initialize(self, args: dict[str, Any]) -> None:
        self._live = Live(version_dir(args) / "stage.toml", EngineSettings)
        self._tokenizer = Tokenizer.load(engine_dir(args))
        self._in_flight = InFlight("tensorrt_llm")
        self._running: dict[str, Stream] = {}
        self._loop = EventLoopThread("engine", workers=1)
        self._loop.start()

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            self._in_flight.enter()
            self._loop.submit(self._serve(request))

    def finalize(self) -> None:
        self._loop.stop()

    async def _serve(self, request: Any) -> None:
        try:
            tensors = RequestTensors(request)
            if tensors.flag("stop"):
                self._stop(request)
            else:
                await self._generate(_stream(request, tensors))
        except Exception as error:  # noqa: BLE001 a fault is an answer too
            request.get_response_sender().send(error_response(error), flags=_FINAL)
        finally:
            self._in_flight.leave()

    def _stop(self, request: Any) -> None:
        if not request.request_id():
            raise InvalidInput("stop", "needs the request_id of the request to stop")
        if request.request_id() in self._running:
            self._running[request.request_id()].stopped.set()
        request.get_response_sender().send(flags=_FINAL)

    async def _generate(self, stream: Stream) -> None:
        settings = self._live.now()
        fail(settings)
        if settings.fault == "malformed":
            stream.sender.send(pb_utils.InferenceResponse(output_tensors=[]), flags=_FINAL)
            return
        self._running[stream.request_id] = stream
        try:
            await self._speak(stream, settings)
        finally:
            self._running.pop(stream.request_id, None)

    async def _speak(self, stream: Stream, settings: EngineSettings) -> None:
        loop = asyncio.get_running_loop()
        words = self._tokenizer.encode(settings.answer)
        ids = [words[place % len(words)] for place in range(stream.budget)]
        start = loop.time()
        first = settings.slow_ms if settings.fault == "slow" else settings.latency_ms
        for place, number in enumerate(ids):
            due = start + (first + place * settings.token_ms) / 1e3
            if await self._stopped(stream, due):
                stream.send([] if stream.streaming else ids[:place], final=True)
                return
            if stream.streaming:
                stream.send([number], final=place == stream.budget - 1)
        if not stream.streaming:
            stream.send(ids, final=True)

    async def _stopped(self, stream: Stream, due: float) -> bool:
        """Wait until `due`, or until the request was stopped or its client left."""
        wait = max(0.0, due - asyncio.get_running_loop().time())
        while self._live.now().fault == "hung" and not stream.stopped.is_set():  # noqa: ASYNC110 a file is watched
            await asyncio.sleep(_POLL_S)
        try:
            async with asyncio.timeout(wait):
                await stream.stopped.wait()
        except TimeoutError:
            return bool(stream.sender.is_cancelled())
        return True


def _stream(request: Any, tensors: RequestTensors) -> Stream:
    return Stream(
        request_id=request.request_id(),
        sender=request.get_response_sender(),
        streaming=bool(tensors.flag("streaming")),
        prompt=required(tensors.integer("input_lengths")),
        budget=required(tensors.integer("request_output_len")),
    )
