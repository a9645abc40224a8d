"""Tags of channels whose peer has moved: the current address counts, not the one at which the peer was first."""

import pytest

from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.testing.pair import S

PUBLICATION = "aeron:udp?endpoint={}:20121"
SUBSCRIPTION = "aeron:udp?endpoint=10.0.0.1:20121|control={}:20120|control-mode=dynamic"
KINDS = [("add_publication_async", PUBLICATION), ("add_subscription_async", SUBSCRIPTION)]


@pytest.fixture
def moved(simulation, names):
    """Return a driver's client and a function that adds a channel by name whose peer then moves to 10.0.0.3."""
    client = simulation.add_driver("10.0.0.1", name_resolver="names").connect()

    def add(verb, channel):
        first = simulation.result(getattr(client, verb)(f"{channel.format('node')}|tags=1", 1001))
        names.address = "10.0.0.3"
        simulation.run_for(12 * S)
        assert simulation.drivers[0].counted("resolution_changes") == 1
        return first

    return client, add


@pytest.mark.parametrize(("verb", "channel"), KINDS)
@pytest.mark.parametrize("host", ["10.0.0.3", "node"])
def test_a_tag_with_the_new_address_is_accepted(simulation, moved, verb, channel, host):
    client, add = moved
    first = add(verb, channel)

    other = simulation.result(getattr(client, verb)(f"{channel.format(host)}|tags=1", 1002))

    assert other.channel_status_id == first.channel_status_id


@pytest.mark.parametrize(("verb", "channel"), KINDS)
def test_a_tag_with_the_former_address_is_refused(simulation, moved, verb, channel):
    client, add = moved
    add(verb, channel)
    asked = f"{channel.format('10.0.0.2')}|tags=1"

    registration = getattr(client, verb)(asked, 1002)
    simulation.run_until(lambda: registration.is_done)

    with pytest.raises(RegistrationError) as raised:
        registration.poll()
    assert (
        f"matching tag 1 has mismatched endpoint or control: {asked} <> {channel.format('node')}|tags=1"
        in str(raised.value)
    )
    assert raised.value.code is ErrorCode.GENERIC_ERROR
