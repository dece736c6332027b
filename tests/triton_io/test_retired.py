from chainserve.clock import ManualClock
from chainserve.triton_io.retired import Retired


def test_what_finished_is_kept_for_a_while_and_then_dropped() -> None:
    clock = ManualClock()
    retired = Retired(clock, keep_s=10)
    retired.add(object())
    clock.advance(9)
    retired.add(object())
    assert len(retired) == 2
    clock.advance(1)
    retired.add(object())
    assert len(retired) == 2
