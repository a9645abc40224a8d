"""Metrics of secured channels: names and reasons as labels, and nothing that the network has sent."""

import re
from pathlib import Path

import pytest
from hosts import SECURED, flow, messages_of

from aeron_core._native.address import SocketAddress
from aeron_core.metrics.samples import SECURITY_EVENTS, SECURITY_REFUSED, counter_samples
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing import DriverPair
from aeron_core.testing.pair import MS, S
from aeron_core.testing.probes import DatagramProbe

ROOT = Path(__file__).parents[3]
MDS = "aeron:udp?control-mode=manual|security=orders"


def found(driver, metric):
    """Return the values of a metric by its labels but for the registration id, which must be unique to an endpoint."""
    samples = [each for each in counter_samples(driver.counters) if each.metric == metric]
    assert len({each.labels for each in samples}) == len(samples)
    return {each.labels[:2]: each.value for each in samples}


def documented(mode):
    """Return type and name of the counters of a mode, by the reference page."""
    page = (ROOT / "docs" / "reference" / "counters.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(security-[a-z-]+)`( \*)? \| (\w+) \|", page, re.MULTILINE)
    return {(1022 if mark else 1025, name) for name, mark, of in rows if of in ("both", mode)}


def counted(driver):
    """Return type and name of the counters of a driver's protectors."""
    return {
        (each.type_id, each.label.partition(": ")[0])
        for each in driver.counters
        if each.label.startswith("security-")
    }


def send_plain(pair, count):
    """Send a datagram from each of some hosts that know no secret."""
    for number in range(count):
        source = SocketAddress.of(f"10.0.9.{number + 1}", 9)
        stranger = DatagramProbe(pair.network.host(source.host).open(DatagramOptions(bind=source)))
        datagram = f"name-{number} {{}}: ".encode() * 10
        stranger.send([(datagram, len(datagram))], SocketAddress.of("10.0.0.2", 20121))


@pytest.fixture
def pair(tmp_path, profiles):
    with DriverPair(tmp_path, security_profiles=profiles) as made:
        made.long_idle_step_ns = 10 * MS
        yield made


def test_what_a_channel_seals_opens_and_refuses_has_its_channel_as_a_label(pair):
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    flow(pair, publication, [subscription], messages_of(100))
    send_plain(pair, 1)
    pair.run_for(2 * S)

    events, refused = found(pair.receiver, SECURITY_EVENTS), found(pair.receiver, SECURITY_REFUSED)

    assert {name for name, _ in events} == {"sealed", "opened", "rotations"}
    assert events["opened", SECURED] >= 50
    assert refused["plain", SECURED] > 0
    assert refused["forged", SECURED] == 0
    assert {channel for _, channel in (*events, *refused)} == {SECURED}
    # None is left to the metric of other counters, by id.
    texts = [text for each in counter_samples(pair.receiver.counters) for text in each.labels]
    assert not any(text.startswith("security-") for text in texts)


def test_every_counter_of_a_group_secret_is_documented(pair):
    pair.add_publication(SECURED, 1001)

    assert counted(pair.sender) == documented("group")


def test_every_counter_of_identities_is_documented(start_pair):
    pair = start_pair()
    pair.add_publication(SECURED, 1001)

    assert counted(pair.sender) == documented("identities")


def test_a_peer_adds_no_series(pair):
    pair.add_subscription(SECURED, 1001)
    pair.run_for(S)
    before = set(found(pair.receiver, SECURITY_REFUSED)), len(list(counter_samples(pair.receiver.counters)))

    send_plain(pair, 100)
    pair.run_for(2 * S)

    refused = found(pair.receiver, SECURITY_REFUSED)
    assert refused["plain", SECURED] == 100
    assert (set(refused), len(list(counter_samples(pair.receiver.counters)))) == before


def test_handshakes_and_rekeys_of_identities_are_events(start_pair):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    flow(pair, publication, [subscription], messages_of(20))
    pair.run_for(S)

    events, refused = found(pair.sender, SECURITY_EVENTS), found(pair.sender, SECURITY_REFUSED)

    assert {name for name, _ in events} == {"sealed", "opened", "rotations", "handshakes", "rekeys"}
    assert events["handshakes", SECURED] >= 1
    assert events["rekeys", SECURED] == 0
    assert ("identity", SECURED) in refused


def test_destinations_of_a_subscription_have_one_series(pair):
    subscription = pair.add_subscription(MDS, 1001)
    for port in (20121, 20122):
        pair.result(subscription.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}"))
    publication = pair.add_publication(SECURED, 1001)
    flow(pair, publication, [subscription], messages_of(20))
    pair.run_for(S)

    assert found(pair.receiver, SECURITY_EVENTS)["opened", MDS] > 0
