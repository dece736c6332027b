"""When each stage of one request ran. Milliseconds since admission."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from chainserve.clock import Clock


@dataclass
class Stage:
    """`outcome` is ok, or what happened instead: timeout, error, cancelled. An open stage has no `end_ms`."""

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

    def begin(self, name: str) -> Stage:
        stage = Stage(name, self.elapsed_ms())
        self.stages.append(stage)
        return stage

    def end(self, stage: Stage) -> None:
        stage.end_ms = self.elapsed_ms()

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Record a stage around a block; an exception that leaves the block marks it."""
        stage = self.begin(name)
        try:
            yield stage
        except Exception:
            stage.outcome = "error"
            raise
        except BaseException:
            stage.outcome = "cancelled"
            raise
        finally:
            self.end(stage)

    def report(self) -> list[dict[str, object]]:
        """One dict a stage, in order of start; a stage still open ends now and was cancelled."""
        return [self._row(stage) for stage in sorted(self.stages, key=lambda s: s.start_ms)]

    def _row(self, stage: Stage) -> dict[str, object]:
        row = asdict(stage)
        if stage.end_ms is None:
            row |= {"end_ms": self.elapsed_ms(), "outcome": "cancelled"}
        return {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
