import asyncio
import math

import pytest

from chainserve.branches.branch import Branch, StageBudget
from chainserve.branches.group import together
from chainserve.clock import ManualClock, MonotonicClock
from chainserve.deadline import Deadline
from chainserve.errors import DeadlineExceeded, StageFailed
from chainserve.timeline import Timeline

BRANCH = Branch("intent", StageBudget(timeout_ms=20), "fallback")


async def answer() -> str:
    return "answer"


async def hang() -> str:
    await asyncio.Event().wait()
    return "never"


async def break_down() -> str:
    raise RuntimeError


def run(call, seconds: float | None = None) -> tuple[str, str]:  # noqa: ANN001
    clock = MonotonicClock()
    timeline = Timeline(clock)
    result = asyncio.run(BRANCH.run(call, Deadline.after(clock, seconds), timeline))
    return result, timeline.stages[0].outcome


def test_the_result_of_a_call_in_time() -> None:
    assert run(answer) == ("answer", "ok")


def test_a_hung_call_gets_the_fallback() -> None:
    assert run(hang) == ("fallback", "timeout")


def test_a_broken_call_gets_the_fallback() -> None:
    assert run(break_down) == ("fallback", "error")


def test_a_passed_deadline_is_said_with_the_stage() -> None:
    with pytest.raises(DeadlineExceeded, match="deadline exceeded in intent"):
        run(hang, seconds=0.001)


def test_a_deadline_hands_down_what_remains() -> None:
    clock = ManualClock()
    deadline = Deadline.after(clock, 1.0)
    clock.advance(0.75)
    assert deadline.within(10.0) == 0.25
    assert deadline.within(0.1) == 0.1
    assert Deadline(clock, math.inf).within(None) is None


def test_the_first_failure_of_a_group_is_raised_plain() -> None:
    async def fail() -> None:
        raise StageFailed("engine")

    async def both() -> None:
        async with together() as group:
            group.create_task(hang())
            group.create_task(fail())

    with pytest.raises(StageFailed):
        asyncio.run(both())
