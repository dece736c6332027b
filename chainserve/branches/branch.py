"""One branch of the chain: a call with a time budget, a fallback, and its place in the timeline."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import Field

from chainserve.config import Settings
from chainserve.deadline import Deadline
from chainserve.errors import DeadlineExceeded
from chainserve.timeline import Stage, Timeline

Result = TypeVar("Result")
log = logging.getLogger(__name__)


class StageBudget(Settings):
    """`[stages.<name>]` of chain.toml."""

    timeout_ms: int = Field(ge=1)


@dataclass(frozen=True)
class Branch(Generic[Result]):
    """`fallback` is the result when the call is late or fails; it never raises."""

    name: str
    budget: StageBudget
    fallback: Result

    async def run(self, call: Callable[[], Awaitable[Result]], deadline: Deadline, timeline: Timeline) -> Result:
        """The call's result, or the fallback.

        Raises:
            DeadlineExceeded: the request's own deadline passed while this branch ran.
        """
        with timeline.stage(self.name) as stage:
            try:
                async with asyncio.timeout(deadline.within(self.budget.timeout_ms / 1e3)):
                    return await call()
            except TimeoutError:
                stage.outcome = "timeout"
            except Exception as error:  # noqa: BLE001 a broken stage is answered with its fallback, whatever broke
                log.warning("%s failed: %s", self.name, error)
                stage.outcome = "error"
            return self._instead(stage, deadline)

    def _instead(self, stage: Stage, deadline: Deadline) -> Result:
        if deadline.passed:
            raise DeadlineExceeded(stage.name)
        return self.fallback
