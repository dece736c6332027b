"""The pipeline on OpenVINO GenAI (2026.4): the only file of the engine, with grammar.py, that imports OpenVINO."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import openvino
import openvino_genai

from chainserve.engine.cpu.pipeline import Piece
from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.engine.cpu.settings import EngineSettings
from chainserve.messages import FinishReason

BLOCK_SIZE: Final = 32
"""Tokens in a KV block on the CPU device (a constant of OpenVINO's paged attention there)."""

_REASONS = {
    openvino_genai.GenerationFinishReason.STOP: FinishReason.STOP,
    openvino_genai.GenerationFinishReason.LENGTH: FinishReason.LENGTH,
}
_Status = openvino_genai.GenerationStatus
_STATUS_REASONS = {
    _Status.FINISHED: FinishReason.STOP,
    _Status.IGNORED: FinishReason.LENGTH,  # the KV cache is full and nothing can be scheduled
    _Status.CANCEL: FinishReason.CANCELLED,
    _Status.STOP: FinishReason.STOP,
}


class OpenVinoHandle:
    def __init__(self, handle: Any, log_probs: bool) -> None:
        self._handle, self._log_probs = handle, log_probs

    def read(self) -> Piece | None:
        if not self._handle.can_read():
            return self._ended()
        (output,) = self._handle.read().values()
        log_probs = output.generated_log_probs if self._log_probs else ()
        return Piece(output.generated_ids, log_probs, _REASONS.get(output.finish_reason))

    def stop(self) -> None:
        self._handle.cancel()

    def _ended(self) -> Piece | None:
        reason = _STATUS_REASONS.get(self._handle.get_status())
        return None if reason is None else Piece(finish=reason)


class OpenVinoPipeline:
    """Loads the engine folder at construction: seconds."""

    block_size = BLOCK_SIZE

    def __init__(self, engine_dir: Path, settings: EngineSettings) -> None:
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(
            engine_dir, _scheduler(settings), "CPU", device_properties(settings)
        )
        self.total_blocks = 0

    def add(self, number: int, request: SequenceRequest) -> OpenVinoHandle:
        ids = openvino.Tensor(np.array([request.ids], dtype=np.int64))
        handle = self.pipeline.add_request(number, ids, generation_config(request.decoding))
        return OpenVinoHandle(handle, request.decoding.log_probs)

    def step(self) -> None:
        self.pipeline.step()

    def busy(self) -> bool:
        return bool(self.pipeline.has_non_finished_requests())


def device_properties(settings: EngineSettings) -> dict[str, Any]:
    properties: dict[str, Any] = {"INFERENCE_PRECISION_HINT": settings.precision}
    return properties | ({"INFERENCE_NUM_THREADS": settings.threads} if settings.threads else {})


def _scheduler(settings: EngineSettings) -> Any:
    config = openvino_genai.SchedulerConfig()
    config.cache_size = max(1, settings.kv_cache_mb // 1024)
    config.max_num_batched_tokens = settings.max_num_batched_tokens
    config.max_num_seqs = settings.max_num_seqs
    config.enable_prefix_caching = settings.prefix_caching
    config.dynamic_split_fuse = True
    return config


def generation_config(decoding: Decoding) -> Any:
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
    if decoding.sampled:
        _sample(config, decoding)
    return config


def _sample(config: Any, decoding: Decoding) -> None:
    config.do_sample = True
    config.temperature = decoding.temperature
    config.top_k = decoding.top_k
    config.top_p = decoding.top_p
    config.rng_seed = decoding.seed
