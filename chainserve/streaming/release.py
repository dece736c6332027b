"""Holding the answer until it is checked: text goes in as it is decoded, only cleared text comes out."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from chainserve.messages import Verdict
from chainserve.streaming.windows import Window, WindowPlan

Check = Callable[[str], Awaitable[Verdict]]
Emit = Callable[[str], None]


@dataclass
class HeldText:
    """The answer so far. `add` and `close` are called by the producer, `cleared` moves only after a check."""

    plan: WindowPlan
    text: str = ""
    cleared: int = 0
    complete: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, text: str) -> None:
        if text:
            self.text += text
            self._changed.set()

    def close(self) -> None:
        """No more text comes."""
        self.complete = True
        self._changed.set()

    async def next_window(self) -> Window | None:
        """Wait for a window to check; None once everything is covered and the text is complete."""
        while True:
            self._changed.clear()
            window = self.plan.next(self.text, complete=self.complete)
            if window is not None or self.complete:
                return window
            await self._changed.wait()


async def release(held: HeldText, check: Check, emit: Emit) -> Verdict | None:
    """Check window after window while the text grows, and emit what each check cleared.

    Returns the verdict that flagged a window: nothing after the text cleared before it was emitted. None: all passed.
    """
    while (window := await held.next_window()) is not None:
        verdict = await check(held.text[window.start : window.end])
        if verdict.flagged:
            return verdict
        fresh = held.text[held.cleared : window.end]
        held.cleared = window.end
        emit(fresh)
    return None
