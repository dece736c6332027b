"""The pipeline on OpenVINO GenAI (2026.4): the only file of the engine, with grammar.py, that imports OpenVINO."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import openvino
import openvino_genai

from chainserve.engine.cpu.grammar import GrammarProbe, structured_output
from chainserve.engine.cpu.pipeline import CACHE_FULL, Cost, Piece, Pieces
from chainserve.engine.cpu.prefix import PrefixLedger, Reuse
from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.engine.cpu.settings import BLOCK_SIZE, EngineSettings
from chainserve.engine.manifest import EngineManifest
from chainserve.messages import FinishReason

_REASONS: Final = {
    openvino_genai.GenerationFinishReason.STOP: FinishReason.STOP,
    openvino_genai.GenerationFinishReason.LENGTH: FinishReason.LENGTH,
}
_Status = openvino_genai.GenerationStatus


@dataclass
class _Running:
    handle: Any
    request: SequenceRequest
    reuse: Reuse
    added_ns: int = field(default_factory=time.monotonic_ns)
    generated: list[int] = field(default_factory=list)

    def cost(self) -> Cost:
        """The last generated token has no keys and values yet."""
        tokens = len(self.request.ids) + max(0, len(self.generated) - 1)
        blocks = -(-tokens // BLOCK_SIZE)
        computed = len(self.request.ids) - self.reuse.tokens
        return Cost(self.added_ns, computed, max(0, blocks - self.reuse.blocks), self.reuse.blocks)


class OpenVinoPipeline:
    """Loads the engine folder at construction: seconds."""

    def __init__(self, engine_dir: Path, settings: EngineSettings, manifest: EngineManifest) -> None:
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(
            engine_dir, _scheduler(settings), "CPU", _device_properties(settings)
        )
        self._ledger = PrefixLedger(BLOCK_SIZE, settings.kv_blocks if settings.prefix_caching else 0)
        self._running: dict[int, _Running] = {}
        self._probe = GrammarProbe(self._pipeline.get_tokenizer(), manifest.vocab_size, manifest.eos_ids[0])

    def problem(self, decoding: Decoding) -> str:
        """Why `decoding` cannot guide, "" when it can; from any thread."""
        return self._probe.problem(structured_output(decoding))

    def add(self, number: int, request: SequenceRequest) -> None:
        ids = openvino.Tensor(np.array([request.ids], dtype=np.int64))
        handle = self._pipeline.add_request(number, ids, generation_config(request.decoding))
        self._running[number] = _Running(handle, request, self._ledger.find(request.ids))

    def stop(self, number: int) -> Cost | None:
        if number not in self._running:
            return None
        self._running[number].handle.cancel()
        return self._end(number)

    def step(self) -> Pieces:
        self._pipeline.step()
        now = time.monotonic_ns()
        return [(number, piece) for number in tuple(self._running) if (piece := self._read(number, now))]

    def busy(self) -> bool:
        return bool(self._running) or bool(self._pipeline.has_non_finished_requests())

    def _read(self, number: int, now: int) -> Piece | None:
        running = self._running[number]
        if not running.handle.can_read():
            return self._out_of_blocks(number, now) if running.handle.get_status() != _Status.RUNNING else None
        (output,) = running.handle.read().values()
        ids = output.generated_ids
        if not running.generated:
            self._ledger.keep(running.request.ids, ended=False)
        running.generated += ids
        log_probs = output.generated_log_probs if running.request.decoding.log_probs else ()
        finish = _REASONS.get(output.finish_reason)
        return Piece(ids, log_probs, now, finish, self._end(number) if finish else Cost())

    def _out_of_blocks(self, number: int, now: int) -> Piece:
        """What the library does with a sequence that has no room left: it ends without a last token."""
        return Piece(at_ns=now, cost=self._end(number), problem=CACHE_FULL)

    def _end(self, number: int) -> Cost:
        ended = self._running.pop(number)
        if ended.generated:
            self._ledger.keep([*ended.request.ids, *ended.generated[:-1]], ended=True)
        return ended.cost()


def _device_properties(settings: EngineSettings) -> dict[str, Any]:
    properties: dict[str, Any] = {"INFERENCE_PRECISION_HINT": settings.precision}
    return properties | ({"INFERENCE_NUM_THREADS": settings.threads} if settings.threads else {})


def _scheduler(settings: EngineSettings) -> Any:
    config = openvino_genai.SchedulerConfig()
    config.num_kv_blocks = settings.kv_blocks
    config.max_num_batched_tokens = settings.max_num_batched_tokens
    config.max_num_seqs = settings.max_num_seqs
    config.enable_prefix_caching = settings.prefix_caching
    config.dynamic_split_fuse = True
    return config


def generation_config(decoding: Decoding) -> Any:
    """The library's form of `decoding`. Stop words are not in it: they are ids, and the library takes text."""
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = decoding.max_tokens
    config.min_new_tokens = decoding.min_tokens
    config.ignore_eos = not decoding.end_ids
    if decoding.end_ids:
        config.eos_token_id = decoding.end_ids[0]
        config.stop_token_ids = set(decoding.end_ids)
    config.repetition_penalty = decoding.repetition_penalty
    config.presence_penalty = decoding.presence_penalty
    config.frequency_penalty = decoding.frequency_penalty
    config.logprobs = int(decoding.log_probs)
    config.structured_output_config = structured_output(decoding)
    if decoding.sampled:
        _sample(config, decoding)
    return config


def _sample(config: Any, decoding: Decoding) -> None:
    config.do_sample = True
    config.temperature = decoding.temperature
    config.top_k = decoding.top_k
    config.top_p = decoding.top_p
    config.rng_seed = decoding.seed
