"""Absolute deadlines: set once at admission, handed down, never restarted."""

import math
from dataclasses import dataclass

from chainserve.clock import Clock


@dataclass(frozen=True)
class Deadline:
    """A moment on `clock`; `math.inf` is never."""

    clock: Clock
    at: float = math.inf

    @classmethod
    def after(cls, clock: Clock, seconds: float | None) -> "Deadline":
        return cls(clock, math.inf if seconds is None else clock.now() + seconds)

    @property
    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.at - self.clock.now())

    @property
    def passed(self) -> bool:
        return self.remaining == 0.0

    def within(self, budget: float | None) -> float | None:
        """Seconds a stage may take: its own budget or what remains, whichever is less; None is no limit."""
        allowed = min(math.inf if budget is None else budget, self.remaining)
        return None if math.isinf(allowed) else allowed
