"""Multi-destination publications: dynamic destinations, from status messages, and manual ones."""

import pytest

from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedLink, Simulation, Sink, frames_of, make_messages
from aeron_core.testing.pair import MS, S

SENDER = "10.0.0.1"
RECEIVERS = ("10.0.0.2", "10.0.0.3", "10.0.0.4")
CONTROL = f"{SENDER}:20120"
DYNAMIC = f"aeron:udp?control={CONTROL}|control-mode=dynamic"
MANUAL = f"aeron:udp?control={CONTROL}|control-mode=manual"


def endpoint_of(address, port=20121):
    return f"aeron:udp?endpoint={address}:{port}"


class Mdc:
    """One publishing driver and several receiving drivers."""

    def __init__(self, directory, channel, *, subscribes=True, seed=1, link=None):
        self.simulation = Simulation(directory, seed=seed, link=link)
        self.simulation.long_idle_step_ns = 10 * MS
        self.sender = self.simulation.add_driver(SENDER)
        self.drivers = [self.simulation.add_driver(address) for address in RECEIVERS]
        self.clients = [driver.connect() for driver in self.drivers]
        self.publisher = self.sender.connect()
        self.publication = self.simulation.result(self.publisher.add_publication_async(channel, 1001))
        learnt = f"|control={CONTROL}|control-mode=dynamic" if "dynamic" in channel else ""
        self.channels = [endpoint_of(address) + learnt for address in RECEIVERS]
        self.sinks = [self.subscribe(index) for index in range(len(RECEIVERS))] if subscribes else []

    def subscribe(self, index, options=""):
        channel = self.channels[index] + options
        return Sink(self.simulation.result(self.clients[index].add_subscription_async(channel, 1001)))

    @property
    def destination_count(self):
        return self.sender.find_counter("mdc-num-dest").value

    def deliver(self, messages, sinks=None):
        feed = Feed(self.publication, messages)
        sinks = self.sinks if sinks is None else sinks

        def is_done():
            feed.offer()
            for sink in sinks:
                sink.poll()
            return feed.is_done and all(len(sink.all) >= len(messages) for sink in sinks)

        self.simulation.run_until(is_done, within_ns=30 * S)

    def result(self, registration):
        return self.simulation.result(registration)


@pytest.fixture
def start_mdc(memory_path):
    started = []

    def start(channel, **arguments):
        started.append(Mdc(memory_path, channel, **arguments))
        return started[-1]

    yield start
    for mdc in started:
        mdc.simulation.close()


def test_receivers_are_added_by_their_status_messages_and_receive_everything(start_mdc):
    mdc = start_mdc(f"{DYNAMIC}|fc=min,g:/3")
    messages = make_messages(200, seed=1, max_length=3000)

    mdc.simulation.run_until(lambda: mdc.publication.is_connected)
    mdc.deliver(messages)

    assert [sink.all for sink in mdc.sinks] == [messages] * 3
    assert mdc.destination_count == 3


def test_receivers_that_lose_different_datagrams_all_recover(start_mdc):
    mdc = start_mdc(f"{DYNAMIC}|fc=min,g:/3", seed=2, link=SimulatedLink(loss=0.05))
    messages = make_messages(200, seed=2, max_length=3000)

    mdc.simulation.run_until(lambda: mdc.publication.is_connected)
    mdc.deliver(messages)

    assert [sink.all for sink in mdc.sinks] == [messages] * 3


def test_a_receiver_requests_a_setup_at_once_and_then_every_second(start_mdc):
    mdc = start_mdc(endpoint_of(RECEIVERS[1]), subscribes=False)
    mdc.channels[0] += f"|control={CONTROL}"
    network = mdc.simulation.network
    mdc.subscribe(0)

    mdc.simulation.run_for(3500 * MS)

    times = [line.time_ns for line in network.log if line.source.startswith(RECEIVERS[0])]
    frames = frames_of(StatusMessage, network.sent(source=RECEIVERS[0], destination=CONTROL))
    assert {(sm.session_id, sm.stream_id, sm.flags) for sm in frames} == {(0, 0, 0x80)}
    assert [round((time - times[0]) / S) for time in times] == [0, 1, 2, 3]


def test_a_receiver_without_subscriptions_requests_no_setup(start_mdc):
    mdc = start_mdc(endpoint_of(RECEIVERS[1]), subscribes=False)
    mdc.channels[0] += f"|control={CONTROL}"
    mdc.subscribe(0).subscription.close()
    mdc.simulation.run_for(100 * MS)
    asked = len(mdc.simulation.network.sent(source=RECEIVERS[0]))

    mdc.simulation.run_for(5 * S)

    assert len(mdc.simulation.network.sent(source=RECEIVERS[0])) == asked


def test_a_subscription_to_one_session_requests_its_setup(start_mdc):
    mdc = start_mdc(DYNAMIC, subscribes=False)
    network = mdc.simulation.network

    mdc.subscribe(0, f"|session-id={mdc.publication.session_id}")
    mdc.simulation.run_for(10 * MS)

    asked = frames_of(StatusMessage, network.sent(source=RECEIVERS[0], destination=CONTROL))
    assert [(sm.session_id, sm.stream_id) for sm in asked[:2]] == [
        (0, 0), (mdc.publication.session_id, 1001),
    ]  # fmt: skip


def test_nothing_is_sent_to_a_dead_receiver_after_five_seconds(start_mdc):
    mdc = start_mdc(DYNAMIC)
    mdc.simulation.run_until(lambda: mdc.destination_count == 3)
    dead = RECEIVERS[2]
    mdc.simulation.network.partition(dead, SENDER)

    mdc.simulation.run_for(6 * S)
    log = mdc.simulation.network.log
    log.clear()
    mdc.deliver(make_messages(10, seed=4, max_length=100), sinks=mdc.sinks[:2])

    assert mdc.destination_count == 2
    assert not [line for line in log if line.source.startswith(SENDER) and dead in line.destination]


def test_a_late_receiver_is_added_and_joins_at_the_current_position(start_mdc):
    mdc = start_mdc(DYNAMIC, subscribes=False)
    mdc.sinks = [mdc.subscribe(0)]
    mdc.simulation.run_until(lambda: mdc.publication.is_connected)
    mdc.deliver([b"early"])
    mdc.simulation.run_for(1 * S)

    late = mdc.subscribe(1)
    mdc.simulation.run_until(lambda: late.subscription.is_connected)
    mdc.publication.offer(b"late")
    mdc.simulation.run_until(lambda: late.poll() or late.all)

    assert late.all == [b"late"]


def test_the_setup_has_the_group_flag(start_mdc):
    mdc = start_mdc(DYNAMIC)

    mdc.simulation.run_for(1 * S)

    assert {setup.flags & 0x40 for setup in frames_of(Setup, mdc.simulation.network.sent(source=SENDER))} == {
        0x40
    }


def test_a_client_adds_and_removes_destinations(start_mdc):
    mdc = start_mdc(f"{MANUAL}|fc=max")
    for address in RECEIVERS:
        mdc.result(mdc.publication.add_destination_async(endpoint_of(address)))
    mdc.simulation.run_until(lambda: all(sink.subscription.is_connected for sink in mdc.sinks))
    mdc.simulation.run_until(lambda: mdc.publication.is_connected)
    mdc.deliver([b"for three"])

    mdc.result(mdc.publication.remove_destination_async(endpoint_of(RECEIVERS[0])))
    mdc.simulation.run_for(300 * MS)
    mdc.publication.offer(b"for two")
    mdc.simulation.run_for(100 * MS, lambda: [sink.poll() for sink in mdc.sinks])

    assert [len(sink.all) for sink in mdc.sinks] == [1, 2, 2]
    assert mdc.destination_count == 2


def test_a_destination_is_removed_by_its_registration_id(start_mdc):
    mdc = start_mdc(MANUAL)
    ids = [mdc.result(mdc.publication.add_destination_async(endpoint_of(address))) for address in RECEIVERS]

    mdc.result(mdc.publication.remove_destination_by_id_async(ids[1]))
    mdc.simulation.run_for(1 * S)

    assert mdc.destination_count == 2


def test_a_channel_with_manual_destinations_needs_no_address(start_mdc):
    mdc = start_mdc("aeron:udp?control-mode=manual")

    mdc.result(mdc.publication.add_destination_async(endpoint_of(RECEIVERS[0])))
    mdc.simulation.run_until(lambda: mdc.publication.is_connected)

    assert mdc.publication.offer(b"x") > 0


@pytest.mark.parametrize(
    ("destination", "code", "message"),
    [
        ("aeron:udp?endpoint=10.0.0.2:0", ErrorCode.GENERIC_ERROR, "port=0 for send destination"),
        ("aeron:udp?endpoint=10.0.0.2:00", ErrorCode.GENERIC_ERROR, "port=0 for send destination"),
        ("aeron:ipc", ErrorCode.GENERIC_ERROR, "incorrect URI format for destination"),
        ("aeron:udp?control=10.0.0.2:5", ErrorCode.GENERIC_ERROR, "incorrect URI format for destination"),
        ("aeron-spy:aeron:udp?endpoint=10.0.0.2:1", ErrorCode.INVALID_CHANNEL, "Aeron spies are invalid"),
        (
            "aeron:udp?endpoint=10.0.0.2:1|mtu=1408",
            ErrorCode.INVALID_CHANNEL,
            "must not contain the key: mtu",
        ),
    ],
)
def test_an_invalid_destination_is_refused(start_mdc, destination, code, message):
    mdc = start_mdc(MANUAL, subscribes=False)

    with pytest.raises(RegistrationError, match=message) as caught:
        mdc.result(mdc.publication.add_destination_async(destination))

    assert caught.value.code is code
    assert mdc.destination_count == 0


def test_a_destination_cannot_be_added_to_a_dynamic_channel(start_mdc):
    mdc = start_mdc(DYNAMIC, subscribes=False)

    with pytest.raises(RegistrationError, match="does not allow manual control"):
        mdc.result(mdc.publication.add_destination_async(endpoint_of(RECEIVERS[0])))


def test_a_destination_of_an_unknown_publication_is_refused(start_mdc):
    mdc = start_mdc(MANUAL, subscribes=False)
    ipc = mdc.result(mdc.publisher.add_publication_async("aeron:ipc", 1001))

    for action in (
        ipc.add_destination_async(endpoint_of(RECEIVERS[0])),
        ipc.remove_destination_async(endpoint_of(RECEIVERS[0])),
        ipc.remove_destination_by_id_async(5),
    ):
        with pytest.raises(RegistrationError, match="unknown publication") as caught:
            mdc.result(action)
        assert caught.value.code is ErrorCode.UNKNOWN_PUBLICATION


def test_the_counter_of_destinations_is_freed_with_the_channel(start_mdc):
    mdc = start_mdc(MANUAL, subscribes=False)

    mdc.publication.close()
    mdc.simulation.run_for(20 * S)

    assert mdc.sender.find_counters("mdc-num-dest") == []
    assert mdc.sender.find_counters("snd-channel") == []
