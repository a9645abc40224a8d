"""A plain peer at a secured endpoint, and a secured one at a plain endpoint, of each mode, over a simulated network.

The side that receives first refuses: with a counter and one entry of the error log with the address, and nothing else.
"""

import pytest

from aeron_core.testing import DriverPair, Simulation
from aeron_core.testing.pair import MS, S

SECURITY = "|security=orders"
PLAIN = "aeron:udp?endpoint=10.0.0.2:20121"
GROUP = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1"
CONTROL = "aeron:udp?control=10.0.0.1:20000|control-mode=dynamic"
RESPONSES = "aeron:udp?control-mode=response|control=10.0.0.2:20200"
#: Channels of publication and subscription by mode, and the side that refuses what the other one sends first.
MODES = {
    "unicast": (PLAIN, PLAIN, "receiver"),
    "multicast": (GROUP, GROUP, "receiver"),
    "manual destinations": ("aeron:udp?control-mode=manual", PLAIN, "receiver"),
    "dynamic destinations": (CONTROL, f"{CONTROL}|endpoint=10.0.0.2:20001", "sender"),
    "a subscription with destinations": (PLAIN, "aeron:udp?control-mode=manual", "receiver"),
}


@pytest.fixture(params=["group secret", "identities"])
def pair(request, tmp_path):
    """Two drivers with a profile `orders` of each protector."""
    if request.param == "identities":
        yield request.getfixturevalue("start_pair")()
    else:
        with DriverPair(tmp_path, security_profiles=request.getfixturevalue("profiles")) as made:
            made.long_idle_step_ns = 10 * MS
            yield made


def check_refusal(driver, *, is_sealed, source, text="or the channel of the sender has security="):
    """Assert that a driver has counted what it refused, and logged it once; return the number of datagrams."""
    (record,) = driver.errors()
    assert (text if is_sealed else "it is not sealed") in record.text
    assert record.last_peer.startswith(source)
    assert record.observation_count > 5
    counters = driver.find_counters("security-refused-plain: ")
    counted = driver.counted("invalid_packets") if is_sealed else sum(each.value for each in counters)
    assert counted >= record.observation_count
    return counted


@pytest.mark.parametrize("secured", ["publication", "subscription"])
@pytest.mark.parametrize("mode", MODES)
def test_plain_and_secured_sides_of_each_mode_refuse_each_other_without_an_answer(pair, mode, secured):
    published, subscribed, refusing = MODES[mode]
    if secured == "publication":
        published += SECURITY
    else:
        subscribed += SECURITY
    subscription = pair.add_subscription(subscribed, 1001)
    publication = pair.add_publication(published, 1001)
    if mode == "manual destinations":
        pair.result(publication.add_destination_async(PLAIN))
    if mode == "a subscription with destinations":
        pair.result(subscription.add_destination_async(PLAIN))

    pair.run_for(10 * S)

    sides = {"receiver": pair.receiver, "sender": pair.sender}
    side = sides.pop(refusing)
    (silent,) = sides.values()
    assert not publication.is_connected
    assert not subscription.is_connected
    assert pair.network.sent(source=pair.RECEIVER if refusing == "receiver" else pair.SENDER) == []
    is_sealed = (refusing == "receiver") == (secured == "publication")
    check_refusal(side, is_sealed=is_sealed, source="10.0.0.1:" if refusing == "receiver" else "10.0.0.2:")
    assert silent.errors() == []


@pytest.mark.parametrize("requests", [PLAIN, PLAIN + SECURITY], ids=["plain requests", "secured requests"])
@pytest.mark.parametrize("secured", ["publication", "subscription"])
def test_plain_and_secured_sides_of_a_response_channel_refuse_each_other(pair, requests, secured):
    published, subscribed = (
        RESPONSES + SECURITY * (secured == side) for side in ("publication", "subscription")
    )
    server = pair.receiver.connect()
    asked = pair.result(server.add_subscription_async(requests, 1001))
    answers = pair.result(pair.publisher.add_subscription_async(subscribed, 1002))
    asking = pair.add_publication(f"{requests}|response-correlation-id={answers.registration_id}", 1001)
    pair.run_until(lambda: asking.is_connected and asked.images)
    correlation_id = asked.images[0].correlation_id
    answer = pair.result(
        server.add_publication_async(f"{published}|response-correlation-id={correlation_id}", 1002)
    )

    pair.run_for(10 * S)

    assert not answer.is_connected
    assert not answers.is_connected
    assert asking.is_connected
    assert asked.is_connected
    assert [line for line in pair.network.log if line.source == "10.0.0.2:20200"] == []
    arrived = [line for line in pair.network.log if line.destination == "10.0.0.2:20200"]
    assert {line.data[:4] == b"AeSU" for line in arrived} == {secured == "subscription"}
    check_refusal(pair.receiver, is_sealed=secured == "subscription", source="10.0.0.1:")
    assert pair.sender.errors() == []


@pytest.fixture(params=["group secret", "identities"])
def resolvers(request, tmp_path):
    """Return a function that starts a driver on 10.0.0.<number> whose name resolver sends to some neighbours."""
    with Simulation(tmp_path, idle_step_ns=5 * MS) as simulation:

        def start(number, *neighbors, is_secured):
            if request.param == "identities":
                hosts = request.getfixturevalue("identities")
                profiles = hosts.profiles(("one", "two")[number - 1], "one", "two")
            else:
                profiles = request.getfixturevalue("profiles")
            return simulation.add_driver(
                f"10.0.0.{number}",
                name_resolver="driver",
                resolver_name=f"node-{number}",
                resolver_interface=f"10.0.0.{number}:8050",
                resolver_bootstrap_neighbors=neighbors,
                security_profiles=profiles,
                resolver_security="orders" if is_secured else None,
            )

        yield simulation, start


@pytest.mark.parametrize("secured", ["neighbour", "resolver"])
def test_plain_and_secured_name_resolvers_refuse_each_other_without_an_answer(resolvers, secured):
    simulation, start = resolvers
    one = start(1, is_secured=secured == "resolver")
    two = start(2, "10.0.0.1:8050", is_secured=secured == "neighbour")

    simulation.run_for(20 * S)

    assert [each.find_counter("Resolver cache entries").value for each in (one, two)] == [0, 0]
    assert simulation.network.sent(source="10.0.0.1") == []
    sent = simulation.network.sent(source="10.0.0.2")
    assert {data[:4] == b"AeSU" for data in sent} == {secured == "neighbour"}
    text = "the driver that sent it may have resolver_security"
    counted = check_refusal(one, is_sealed=secured == "neighbour", source="10.0.0.2:8050", text=text)
    assert counted >= len(sent) - 5
    assert two.errors() == []
