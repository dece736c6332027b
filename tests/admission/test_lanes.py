import pytest

from chainserve.admission.lanes import Lanes
from chainserve.admission.policy import AdmissionPolicy
from chainserve.errors import Unavailable

POLICY = AdmissionPolicy(interactive=1, batch=1, max_input_chars=10, max_tokens=10, default_max_tokens=5)


def test_a_full_lane_refuses_at_once_and_the_other_lane_does_not() -> None:
    lanes = Lanes(POLICY)
    with (
        lanes.permit("interactive"),
        lanes.permit("batch"),
        pytest.raises(Unavailable, match="interactive lane is full"),
    ):
        lanes.permit("interactive").__enter__()


def test_a_place_is_given_back_whatever_happens() -> None:
    lanes = Lanes(POLICY)
    with pytest.raises(RuntimeError), lanes.permit("batch"):
        raise RuntimeError
    with lanes.permit("batch"):
        pass
