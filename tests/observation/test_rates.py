import pytest
from observed import heartbeat, records_of, snapshot

from aeron_core.errors import ConfigurationError
from aeron_core.observation import rates_between


def test_positions_and_counts_change_per_second():
    first = snapshot(*records_of(pub_pos=100, snd_pos=80, rcv_hwm=80, rcv_pos=70, sub_pos=60))
    second = snapshot(*records_of(pub_pos=300, snd_pos=180, rcv_hwm=180, rcv_pos=130, sub_pos=64), at_s=2)

    rates = rates_between(first, second)

    (stream,) = second.streams
    (sent,), (image,) = stream.publications.values(), stream.images.values()
    assert rates.seconds == 2
    assert rates.per_second == {0: 100, 1: 50, 2: 50, 3: 30, 4: 2}
    assert (rates.published(stream, sent), rates.sent(stream, sent)) == (100, 50)
    assert rates.received(stream, image) == 30
    assert rates.consumed(stream, image, image.subscribers[0]) == 2
    assert rates.back_pressure_events(stream, sent) is None


def test_a_counter_whose_id_was_reused_has_no_rate():
    first = snapshot(*records_of(pub_pos=100))
    second = snapshot(heartbeat(value=500), *records_of(pub_pos=200), at_s=1)

    rates = rates_between(first, second)

    (stream,) = second.streams
    assert rates.per_second == {}
    # Positions of streams are found by the stream, not by the id of their counter.
    assert rates.published(stream, *stream.publications.values()) == 100


def test_nothing_has_a_rate_across_a_restart_of_the_driver():
    rates = rates_between(snapshot(*records_of(pub_pos=1)), snapshot(*records_of(pub_pos=2), at_s=1, pid=2))

    assert rates.per_second == {}


@pytest.mark.parametrize("at_s", [0, -1])
def test_snapshots_in_the_wrong_order_are_refused(at_s):
    with pytest.raises(ConfigurationError, match="must be later"):
        rates_between(snapshot(), snapshot(at_s=at_s))
