"""Admission is a permit: two lanes, a fixed number of places, and no queue behind them."""

from collections.abc import Iterator
from contextlib import contextmanager

from chainserve.admission.policy import AdmissionPolicy
from chainserve.errors import Unavailable


class Lanes:
    """Places for the requests of one instance. Used from one event loop."""

    def __init__(self, policy: AdmissionPolicy) -> None:
        self._free = {"interactive": policy.interactive, "batch": policy.batch}

    @contextmanager
    def permit(self, lane: str) -> Iterator[None]:
        """Hold a place while the block runs.

        Raises:
            Unavailable: every place of the lane is taken; said at once, nothing waits.
        """
        if self._free[lane] == 0:
            raise Unavailable(f"the {lane} lane is full, try again later")
        self._free[lane] -= 1
        try:
            yield
        finally:
            self._free[lane] += 1
