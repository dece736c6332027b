import pytest

from chainserve.clock import ManualClock
from chainserve.timeline import Timeline


def test_a_report_of_stages_in_order_of_start() -> None:
    clock = ManualClock()
    timeline = Timeline(clock)
    with timeline.stage("intent"):
        clock.advance(0.25)
    rows = timeline.report()
    assert rows == [{"name": "intent", "start_ms": 0.0, "end_ms": 250.0, "outcome": "ok"}]


def test_an_exception_marks_its_stage() -> None:
    timeline = Timeline(ManualClock())
    with pytest.raises(ValueError, match="x"), timeline.stage("intent"):
        raise ValueError("x")
    assert timeline.stages[0].outcome == "error"


def test_a_stage_still_open_in_the_report_was_cancelled() -> None:
    clock = ManualClock()
    timeline = Timeline(clock)
    timeline.begin("decode")
    clock.advance(0.001)
    assert timeline.report()[0] == {"name": "decode", "start_ms": 0.0, "end_ms": 1.0, "outcome": "cancelled"}
