"""Keeping Triton's response iterators alive until Triton has let go of them.

The stub of release 24.10 drops its own reference to a finished iterator on a thread that does not hold Python's lock
(python_backend a2564ea, `Stub::SendCleanupId`). If that is the last reference, the stream's tensors are freed there
(`PbTensor::~PbTensor` takes the lock only in later releases) and the heap of the process breaks. So ours must be the
last reference: it is held well beyond the moment at which the stub drops its own.
"""

import threading
from collections import deque
from typing import Any

from chainserve.clock import Clock

# The stub drops its reference within milliseconds; a stalled machine gets a wide margin.
KEEP_S = 10.0


class Retired:
    """Finished iterators, each kept for `keep_s` seconds. From any thread."""

    def __init__(self, clock: Clock, keep_s: float = KEEP_S) -> None:
        self._clock, self._keep_s = clock, keep_s
        self._kept: deque[tuple[float, Any]] = deque()
        self._lock = threading.Lock()

    def add(self, iterator: Any) -> None:
        now = self._clock.now()
        with self._lock:
            self._kept.append((now, iterator))
            while self._kept[0][0] <= now - self._keep_s:
                self._kept.popleft()

    def __len__(self) -> int:
        return len(self._kept)
