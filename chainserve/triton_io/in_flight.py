"""How many requests a model holds right now, on Triton's metrics port.

Triton's own gauges count a decoupled request as done when it was dispatched; draining needs the truth.
"""

import gc
import threading
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.environment import IN_FLIGHT_METRIC


class InFlight:
    """A gauge shared by all instances of `model`. Safe from any thread."""

    def __init__(self, model: str) -> None:
        self._family = pb_utils.MetricFamily(
            name=IN_FLIGHT_METRIC, description="Requests now held by a model", kind=pb_utils.MetricFamily.GAUGE
        )
        self._gauge: Any = self._family.Metric(labels={"model": model})
        self._lock = threading.Lock()
        self.count = 0

    def enter(self) -> None:
        self._add(1)

    def leave(self) -> None:
        self._add(-1)

    def _add(self, change: int) -> None:
        with self._lock:
            self.count += change
            self._gauge.increment(float(change))


def release_metrics(model: Any) -> None:
    """Forget all that `model` holds, at the end of its `finalize`.

    A metric tells Triton's process when it goes away; one that outlives the stub's connection crashes the stub. It may
    hang in a cycle, such as an error that is kept with its traceback: so the cycles go now too.
    """
    vars(model).clear()
    gc.collect()
