"""engine.toml: how the CPU engine schedules."""

from typing import Final, Literal

from pydantic import Field

from chainserve.config import Settings

BLOCK_SIZE: Final = 32
"""Tokens in a KV block on the CPU (a constant of OpenVINO's paged attention there)."""


class EngineSettings(Settings):
    """Attributes:

    precision: arithmetic between the weights: f32 is exact, bf16 is faster where the CPU has it.
    threads: threads of the model; 0 lets the library choose.
    kv_blocks: blocks of 32 tokens in the KV cache; memory is taken as it is needed.
    max_num_batched_tokens: tokens in one step; a longer prompt is split over steps, so that others go on.
    max_num_seqs: sequences in one step.
    prefix_caching: keep the keys and values of finished requests for prompts that begin the same.
    max_waiting: sequences that may wait or run before a new request is refused as UNAVAILABLE.
    """

    precision: Literal["f32", "bf16", "f16"] = "f32"
    threads: int = Field(default=0, ge=0)
    kv_blocks: int = Field(default=2048, ge=8)
    max_num_batched_tokens: int = Field(default=256, ge=32)
    max_num_seqs: int = Field(default=64, ge=1)
    prefix_caching: bool = True
    max_waiting: int = Field(default=512, ge=1)

    @property
    def kv_tokens(self) -> int:
        return self.kv_blocks * BLOCK_SIZE
