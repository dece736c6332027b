"""When each stage of one request ran. Milliseconds since admission."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from chainserve.clock import Clock


@dataclass
class Stage:
    """`outcome` is ok, or what happened instead: timeout, error, fallback, skipped, cancelled."""

    name: str
    start_ms: float
    end_ms: float | None = None
    outcome: str = "ok"


@dataclass
class Timeline:
    clock: Clock
    stages: list[Stage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._zero = self.clock.now()

    def elapsed_ms(self) -> float:
        return (self.clock.now() - self._zero) * 1e3

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Record a stage around a block; an exception that nobody named marks it as an error."""
        stage = Stage(name, self.elapsed_ms())
        self.stages.append(stage)
        try:
            yield stage
        except BaseException:
            stage.outcome = stage.outcome if stage.outcome != "ok" else "error"
            raise
        finally:
            stage.end_ms = self.elapsed_ms()

    def report(self) -> list[dict[str, object]]:
        """One dict a stage, in order of start; times rounded to a microsecond."""
        return [_rounded(stage) for stage in sorted(self.stages, key=lambda s: s.start_ms)]


def _rounded(stage: Stage) -> dict[str, object]:
    fields = asdict(stage)
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in fields.items()}
