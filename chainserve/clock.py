"""Time, injected: nothing else in the package reads a clock."""

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds on a clock that never goes back. Only differences mean something."""
        ...


class MonotonicClock:
    def now(self) -> float:
        return time.monotonic()


@dataclass
class ManualClock:
    """The fake: a test moves it."""

    seconds: float = 0.0

    def now(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
