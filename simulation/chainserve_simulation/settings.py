"""How a simulated stage behaves. Read again whenever the file changes, so a running server can be broken and mended."""

from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import Field

from chainserve.config import Settings, load_toml

Fault = Literal["none", "slow", "hung", "error", "malformed", "killed"]
FLAG_MARKER = "FLAGME"
"""Text that the simulated guard flags."""


class StageSettings(Settings):
    """Milliseconds. `slow` takes `slow_ms`; `hung` waits until the fault is taken away."""

    latency_ms: float = Field(default=0.0, ge=0)
    ms_per_char: float = Field(default=0.0, ge=0, description="for answers, on top of or instead of `latency_ms`")
    answer_latency_ms: float | None = Field(default=None, ge=0, description="moderation of an answer, if different")
    fault: Fault = "none"
    slow_ms: float = Field(default=5_000.0, ge=0)


class EngineSettings(StageSettings):
    """`latency_ms` is the time to the first token, `token_ms` the time of each one after it."""

    token_ms: float = Field(default=0.0, ge=0)
    answer: str = "All work and no play makes a long and harmless answer. "


AnyStage = TypeVar("AnyStage", bound=StageSettings)


class Live(Generic[AnyStage]):
    """Settings in a file, read again when it was replaced."""

    def __init__(self, path: Path, model: type[AnyStage]) -> None:
        self._path, self._model = path, model
        self._stamp = -1
        self.now()

    def now(self) -> AnyStage:
        stamp = self._path.stat().st_mtime_ns
        if stamp != self._stamp:
            self._settings = load_toml(self._path, self._model)
            self._stamp = stamp
        return self._settings
