import pytest

from aeron_core.protocol.frames import Rttm


@pytest.mark.parametrize(("receiver_id", "meant"), [(42, True), (0, True), (43, False)])
def test_a_measurement_is_for_one_receiver_or_for_all(receiver_id, meant):
    assert Rttm(receiver_id=receiver_id).is_for(42) is meant
