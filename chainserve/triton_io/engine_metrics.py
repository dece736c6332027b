"""The engine's totals on Triton's metrics port."""

from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.engine.cpu.engine import Totals


class EngineMetrics:
    """Exported when a sequence comes or goes, not at every step: each change is a message to Triton's process."""

    def __init__(self) -> None:
        self._families = [
            _family("chainserve_engine_requests_total", "Sequences the engine has taken", "COUNTER"),
            _family("chainserve_engine_tokens_total", "Tokens computed for sequences that have ended", "COUNTER"),
            _family("chainserve_engine_active", "Sequences that wait or run now", "GAUGE"),
        ]
        requests, tokens, active = self._families
        self._requests = _Counter(requests.Metric(labels={}))
        self._input = _Counter(tokens.Metric(labels={"kind": "input"}))
        self._output = _Counter(tokens.Metric(labels={"kind": "output"}))
        self._active: Any = active.Metric(labels={})
        self._last = (0, 0)

    def export(self, totals: Totals) -> None:
        if (totals.requests, totals.active) == self._last:
            return
        self._last = (totals.requests, totals.active)
        self._requests.raise_to(totals.requests)
        self._input.raise_to(totals.input_tokens)
        self._output.raise_to(totals.output_tokens)
        self._active.set(float(totals.active))


class _Counter:
    def __init__(self, metric: Any) -> None:
        self._metric, self._exported = metric, 0

    def raise_to(self, total: int) -> None:
        if total != self._exported:
            self._metric.increment(float(total - self._exported))
            self._exported = total


def _family(name: str, description: str, kind: str) -> Any:
    return pb_utils.MetricFamily(name=name, description=description, kind=getattr(pb_utils.MetricFamily, kind))
