"""Channels with `security=`, protected by a protector of a third party that is plain Python."""

import hashlib
import hmac

import pytest

from aeron_core.errors import ConfigurationError, RegistrationError
from aeron_core.spi import DatagramProtector, ProtectedRole, hookimpl
from aeron_core.testing import DriverPair, DriverUnderTest

ENDPOINT = "10.0.0.2:20121"
PLAIN = f"aeron:udp?endpoint={ENDPOINT}"
SIGNED = f"{PLAIN}|security=orders"
OVERHEAD = 32


class Signed:
    """Authenticates each datagram; `opened` has those that were authentic, `roles` the side of each protector."""

    overhead = OVERHEAD
    roles: list[ProtectedRole]
    fails = False

    def __init__(self, params):
        if "key" not in params.options:
            raise ConfigurationError(f"profile {params.profile!r} has no key: set it")
        self.key, self.role = params.options["key"].encode(), params.role
        type(self).roles.append(params.role)

    def seal(self, datagram):
        if self.fails:
            raise RuntimeError("out of ink")
        # In front, so that a plain endpoint finds no frame.
        return self.sign(datagram, self.role) + datagram

    def open(self, datagram, source):
        signature, content = datagram[:OVERHEAD], datagram[OVERHEAD:]
        return content if hmac.compare_digest(signature, self.sign(content, self.role.peer)) else None

    def sign(self, content, role):
        return hmac.digest(self.key, bytes([role]) + content, hashlib.sha256)


class Plugin:
    def __init__(self):
        self.protector = type("SignedOfTest", (Signed,), {"roles": []})

    @hookimpl
    def aeron_datagram_protectors(self):
        return {"signed": self.protector}


SETTINGS = {
    "security_profiles": {
        "orders": {"protector": "signed", "key": "abc"},
        "other": {"protector": "signed", "key": "def"},
        "broken": {"protector": "signed"},
        "absent": {"protector": "nothing"},
    }
}


@pytest.fixture
def plugin():
    return Plugin()


@pytest.fixture
def pair(tmp_path, plugin):
    with DriverPair(tmp_path, plugins=[plugin], **SETTINGS) as made:
        yield made


def flow(pair, publication, subscription, count=20):
    """Send messages; return what the subscription gets."""
    received = []
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    for number in range(count):
        while publication.offer(bytes([number]) * 100) < 0:
            pair.step()
    pair.run_until(
        lambda: subscription.poll(lambda buffer, _: received.append(bytes(buffer))) and len(received) == count
    )
    return received


def test_a_stream_flows_through_a_protector(pair, plugin):
    subscription = pair.add_subscription(SIGNED, 1001)
    publication = pair.add_publication(SIGNED, 1001)

    assert flow(pair, publication, subscription) == [bytes([number]) * 100 for number in range(20)]

    assert plugin.protector.roles == [ProtectedRole.SUBSCRIPTION, ProtectedRole.PUBLICATION]
    key = b"abc"
    for datagram in pair.sent():
        assert datagram[:OVERHEAD] == hmac.digest(key, b"\0" + datagram[OVERHEAD:], hashlib.sha256)


def test_frames_are_shorter_by_the_overhead_and_datagrams_are_not_longer_than_the_mtu(pair):
    subscription = pair.add_subscription(SIGNED, 1001)
    publication = pair.add_publication(f"{SIGNED}|mtu=2048", 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)

    while publication.offer(bytes(8000)) < 0:
        pair.step()
    pair.run_until(lambda: subscription.poll(lambda buffer, _: None))

    assert publication.max_payload_length == 2048 - OVERHEAD - 32
    assert max(map(len, pair.sent())) == 2048


def test_a_publication_with_the_same_mtu_shares_a_secured_stream(pair):
    first = pair.add_publication(f"{SIGNED}|mtu=2048", 1001)

    assert pair.add_publication(f"{SIGNED}|mtu=2048", 1001).session_id == first.session_id


def test_an_mtu_that_leaves_no_frame_is_refused(pair):
    with pytest.raises(RegistrationError, match=r"mtu=64 in .*: must be at least 96"):
        pair.add_publication(f"{SIGNED}|mtu=64", 1001)
    pair.run_until(lambda: not pair.sender.find_counters("snd-channel"))


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        (
            f"{PLAIN}|security=nothing",
            "security=nothing in .*: must be one of the security_profiles .*: orders, other",
        ),
        (f"{PLAIN}|security=broken", "profile 'broken' has no key: set it"),
        (f"{PLAIN}|security=absent", "no datagram protector 'nothing'; installed: .*signed"),
        ("aeron:ipc?security=orders", "the medium 'ipc' cannot be secured by the driver"),
        ("aeron:sp?endpoint=10.0.0.2:1|security=orders", "the medium 'sp' cannot be secured by the driver"),
    ],
)
def test_a_channel_that_cannot_be_secured_is_refused(pair, channel, text):
    with pytest.raises(RegistrationError, match=text):
        pair.add_publication(channel, 1001)
    with pytest.raises(RegistrationError, match=text):
        pair.add_subscription(channel, 1001)


@pytest.mark.parametrize("other", [PLAIN, f"{PLAIN}|security=other"])
def test_channels_of_one_address_have_the_same_security(pair, other):
    pair.add_subscription(SIGNED, 1001)
    pair.add_publication(SIGNED, 1001)

    text = "does not match that of the existing endpoint: .*use security=orders, or use another endpoint"
    with pytest.raises(RegistrationError, match=text):
        pair.add_subscription(other, 1002)
    with pytest.raises(RegistrationError, match=text):
        pair.add_publication(other, 1002)


def test_a_secured_channel_does_not_share_a_plain_endpoint(pair):
    pair.add_publication(PLAIN, 1001)

    with pytest.raises(RegistrationError, match="leave security out, or use another endpoint"):
        pair.add_publication(SIGNED, 1002)


def test_a_tag_stands_for_a_secured_channel(pair):
    pair.add_subscription(f"{SIGNED}|tags=7", 1001)
    pair.add_publication(f"{SIGNED}|tags=7", 1001)

    subscription = pair.add_subscription("aeron:udp?tags=7", 1002)
    publication = pair.add_publication("aeron:udp?tags=7", 1002)

    assert flow(pair, publication, subscription, 1) == [bytes(100)]


def test_plain_channels_are_refused_if_security_is_required(tmp_path, plugin):
    with DriverUnderTest(tmp_path, plugins=[plugin], security_required=True, **SETTINGS) as one:
        for add in (one.add_publication, one.add_subscription):
            with pytest.raises(
                RegistrationError, match="no security=, but the driver has security_required=true"
            ):
                add("aeron:udp?endpoint=127.0.0.1:1", 1001)
        with pytest.raises(RegistrationError, match="security_required=true"):
            one.add_subscription("aeron:udp?control-mode=manual", 1001)
        one.add_publication("aeron:udp?endpoint=127.0.0.1:1|security=orders", 1001)
        one.add_publication("aeron:ipc", 1001)
        assert one.driver.find_counters("rcv-channel") == []


def test_destinations_have_the_security_of_their_channel(pair):
    subscription = pair.add_subscription("aeron:udp?control-mode=manual|security=orders", 1001)
    publication = pair.add_publication("aeron:udp?control-mode=manual|security=orders", 1001)
    pair.result(subscription.add_destination_async(PLAIN))
    pair.result(publication.add_destination_async(SIGNED))

    for stream in (subscription, publication):
        with pytest.raises(
            RegistrationError, match=r"security=other in the destination .*: leave security out"
        ):
            pair.result(stream.add_destination_async("aeron:udp?endpoint=10.0.0.2:20122|security=other"))

    assert flow(pair, publication, subscription, 3) == [bytes([number]) * 100 for number in range(3)]


@pytest.mark.parametrize(
    ("sends", "receives"), [(PLAIN, SIGNED), (SIGNED, PLAIN), (f"{PLAIN}|security=other", SIGNED)]
)
def test_channels_of_different_security_exchange_nothing(pair, sends, receives):
    subscription = pair.add_subscription(receives, 1001)
    publication = pair.add_publication(sends, 1001)

    pair.run_for(2_000_000_000)

    assert not publication.is_connected
    assert not subscription.is_connected
    assert pair.network.sent(source=pair.RECEIVER) == []


def test_what_a_protector_refuses_is_counted(pair):
    pair.add_subscription(SIGNED, 1001)
    pair.add_publication(PLAIN, 1001)

    pair.run_for(1_000_000_000)

    counter = pair.receiver.find_counter("security-refused-unopened: ")
    assert pair.receiver.counters.value(counter.id) > 0
    assert pair.receiver.counted("invalid_packets") == 0
    assert SIGNED in counter.label


def test_an_exception_of_a_protector_is_logged_once_and_stops_nothing(pair, plugin):
    subscription = pair.add_subscription(SIGNED, 1001)
    publication = pair.add_publication(SIGNED, 1001)
    plugin.protector.fails = True
    pair.run_for(500_000_000)
    plugin.protector.fails = False

    assert flow(pair, publication, subscription, 3) == [bytes([number]) * 100 for number in range(3)]

    for driver in (pair.sender, pair.receiver):
        texts = [record.text for record in driver.errors()]
        assert sum("out of ink" in text for text in texts) <= 1
    assert any(
        "datagram protector 'signed': RuntimeError: out of ink" in each.text for each in pair.sender.errors()
    )


def test_counters_and_protectors_end_with_the_endpoint(pair):
    publication = pair.add_publication(SIGNED, 1001)
    assert pair.sender.find_counters("security-refused")

    publication.close()
    pair.run_until(lambda: not pair.sender.find_counters("snd-channel"))

    assert pair.sender.find_counters("security-refused") == []


class Faulty(DatagramProtector):
    """Fails in each method that the conductor calls while the endpoint is open."""

    def take_fault(self):
        raise RuntimeError("no fault")

    def on_timer(self, now_ns):
        raise RuntimeError("no time")

    def do_work(self, now_ns):
        raise RuntimeError("no work")


@pytest.mark.parametrize("overhead", [-1, 1025, None, "1"])
def test_a_protector_with_a_wrong_overhead_is_refused(pair, plugin, overhead):
    plugin.protector.overhead = overhead

    with pytest.raises(RegistrationError, match="must be a number of bytes from 0 to 1024"):
        pair.add_publication(SIGNED, 1001)


def test_a_protector_without_the_methods_is_refused(pair, plugin):
    plugin.protector.seal = None

    with pytest.raises(RegistrationError, match="must have the methods seal and open"):
        pair.add_publication(SIGNED, 1001)


def test_a_protector_that_fails_on_the_conductor_stops_nothing(tmp_path, plugin):
    plugin.protector = lambda _: Faulty()
    with DriverPair(tmp_path, plugins=[plugin], **SETTINGS) as pair:
        subscription = pair.add_subscription(SIGNED, 1001)
        publication = pair.add_publication(SIGNED, 1001)
        pair.run_for(2_000_000_000)

        assert flow(pair, publication, subscription, 3) == [bytes([number]) * 100 for number in range(3)]

        texts = {record.text for record in pair.sender.errors()}
        assert {text.rpartition(": ")[2] for text in texts} == {
            "no fault",
            "no time",
            "no work",
        }


class Worker(DatagramProtector):
    """Counts its duty cycles."""

    def __init__(self):
        self.cycles = 0

    def do_work(self, now_ns):
        self.cycles += 1
        return 0


def test_a_protector_works_in_each_cycle_of_the_conductor_until_its_endpoint_closes(tmp_path, plugin):
    made = []

    def make(_):
        made.append(Worker())
        return made[-1]

    plugin.protector = make
    with DriverPair(tmp_path, plugins=[plugin], **SETTINGS) as pair:
        publication = pair.add_publication(SIGNED, 1001)
        pair.run_for(10_000_000)
        cycles = made[0].cycles
        pair.step()
        assert made[0].cycles == cycles + 1 > 5

        publication.close()
        pair.run_until(lambda: not pair.sender.find_counters("snd-channel"))

        cycles = made[0].cycles
        pair.step()
        assert made[0].cycles == cycles
