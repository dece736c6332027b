"""An event loop of our own, in a thread of its own.

Triton calls `execute` on the stub's main thread. Handing requests to this loop lets `execute` return at once, so one
instance holds many requests, and blocking calls into Triton wait in a pool instead of on the loop.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from chainserve.clock import MonotonicClock
from chainserve.triton_io.retired import Retired

Result = TypeVar("Result")


class EventLoopThread:
    """`workers` bounds how many blocking calls wait at the same time."""

    def __init__(self, name: str, workers: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.retired = Retired(MonotonicClock())
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=f"{name}-call")
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Run `work` on the loop; from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Run a short call on the loop; from any thread."""
        self.loop.call_soon_threadsafe(call)

    async def blocking(self, call: Callable[[], Result]) -> Result:
        """Wait on the loop for a call that blocks a thread of the pool."""
        return await self.loop.run_in_executor(self._pool, call)

    def start_blocking(self, call: Callable[[], None]) -> None:
        """Start a call that nobody waits for."""
        self._pool.submit(call)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()
