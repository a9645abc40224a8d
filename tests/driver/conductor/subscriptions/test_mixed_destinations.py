"""A subscription with three destinations: a multicast group, a local address, and a control address."""

import pytest

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedLink, Sink, frames_of, make_messages
from aeron_core.testing.pair import MS, S

# The interface is one of this machine: the simulated hosts take any.
GROUP = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1"
UNICAST = "aeron:udp?endpoint=10.0.0.2:20122"
LEARNT = "aeron:udp?control=10.0.0.1:20120|control-mode=dynamic"
NAMED = "aeron:udp?endpoint=10.0.0.2:20123|control=10.0.0.1:20120|control-mode=dynamic"
START = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"

#: Publication channel and destination of each path.
PATHS = ((GROUP, GROUP), (UNICAST, UNICAST), (LEARNT, NAMED))
PAIRS = [(PATHS[0], PATHS[1]), (PATHS[0], PATHS[2]), (PATHS[1], PATHS[2]), PATHS]
IDS = ["group and unicast", "group and control", "unicast and control", "all"]
#: Paths on which data is in flight, as the simulated network distinguishes group members.
ENDS = {GROUP: "10.0.0.2:20121", UNICAST: "10.0.0.2:20122", LEARNT: "10.0.0.2:20123"}


@pytest.fixture
def mds(pair):
    return pair.add_subscription("aeron:udp?control-mode=manual", 1001)


def add(pair, subscription, *channels):
    for channel in channels:
        pair.result(subscription.add_destination_async(channel))


def connect(pair, subscription, paths):
    """Return publications of one stream that differ only in their path."""
    add(pair, subscription, *(received for _, received in paths))
    twins = [pair.add_exclusive_publication(sent + START, 1001) for sent, _ in paths]
    pair.run_until(lambda: all(twin.is_connected for twin in twins))
    return twins


@pytest.mark.parametrize("paths", PAIRS, ids=IDS)
def test_a_stream_received_over_several_paths_is_one_image_without_duplicates(pair, mds, paths):
    twins = connect(pair, mds, paths)
    feeds = [Feed(twin, make_messages(300, seed=1, max_length=2048)) for twin in twins]
    sink = Sink(mds)

    pair.run_until(lambda: sum(f.offer() for f in feeds) + sink.poll() == 0 and all(f.is_done for f in feeds))
    pair.run_for(1 * S, each=sink.poll)

    assert sink.all == feeds[0].messages
    assert len(mds.images) == 1
    assert mds.images[0].active_transport_count == len(paths)


@pytest.mark.parametrize("paths", PAIRS, ids=IDS)
def test_data_lost_on_one_path_arrives_over_another(pair, mds, paths):
    twins = connect(pair, mds, paths)
    feeds = [Feed(twin, make_messages(200, seed=1, max_length=2048)) for twin in twins]
    sink = Sink(mds)
    pair.network.set_link(SimulatedLink(loss=1), destination=ENDS[paths[0][0]])

    pair.run_until(lambda: sum(f.offer() for f in feeds) + sink.poll() == 0 and len(sink.all) == 200)

    assert sink.all == feeds[0].messages


@pytest.mark.parametrize("paths", PAIRS, ids=IDS)
def test_a_gap_on_all_paths_is_requested_on_all_of_them(pair, mds, paths):
    twins = connect(pair, mds, paths)
    sink = Sink(mds)
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    for twin in twins:
        twin.offer(b"lost")
    pair.run_for(1 * MS)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)
    for twin in twins:
        twin.offer(b"after")

    pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 2)

    assert sink.all == [b"lost", b"after"]
    asked = {line.destination for line in pair.network.log if frames_of(Nak, [line.data])}
    assert len(asked) == len(paths)


def test_control_frames_go_to_the_control_address_of_each_group_or_sender(pair, mds):
    connect(pair, mds, PATHS)
    before = len(pair.network.log)

    pair.run_for(1 * S)

    targets = {
        line.destination for line in pair.network.log[before:] if frames_of(StatusMessage, [line.data])
    }
    # For frames to a group the log has the address of its recipient: the sender, at the port of its group.
    unicast_control = targets - {"10.0.0.1:20121", "10.0.0.1:20120"}
    assert len(targets) == 3
    assert len(unicast_control) == 1


def test_a_setup_is_requested_from_a_control_address_when_its_destination_is_added(pair, mds):
    add(pair, mds, NAMED)

    pair.run_for(1 * MS)

    (asked,) = frames_of(StatusMessage, pair.network.sent(destination="10.0.0.1:20120"))
    assert (asked.session_id, asked.stream_id, asked.flags) == (0, 0, 0x80)


def test_no_setup_is_requested_after_the_destination_is_removed(pair, mds):
    add(pair, mds, NAMED)
    pair.run_for(1 * MS)
    pair.result(mds.remove_destination_async(NAMED))
    before = len(pair.network.log)

    pair.run_for(5 * S)

    assert pair.network.log[before:] == []


@pytest.mark.parametrize(
    ("channel", "expects_group"),
    [(GROUP, True), (UNICAST, False), (LEARNT, True)],
    ids=["group", "unicast", "learnt"],
)
def test_an_image_is_treated_as_a_group_if_its_setup_has_the_group_flag(pair, mds, channel, expects_group):
    add(pair, mds, *(received for sent, received in PATHS if sent == channel))
    publication = pair.add_publication(channel, 1001)

    pair.run_until(lambda: publication.is_connected)

    (setup, *_) = frames_of(Setup, pair.sent())
    assert bool(setup.flags & 0x40) == expects_group
    (log,) = pair.receiver.log_files()
    assert LogBuffer(AtomicBuffer(log.read_bytes())).metadata().group == expects_group


def test_a_destination_in_a_group_with_fewer_hops_than_its_sender_is_counted(pair, mds):
    add(pair, mds, GROUP + "|ttl=1")
    publication = pair.add_publication(GROUP + "|ttl=8", 1001)

    pair.run_until(lambda: publication.is_connected)

    assert pair.receiver.counted("possible_ttl_asymmetry") == 1


def test_hops_are_checked_for_groups_only(pair, mds):
    add(pair, mds, GROUP + "|ttl=1", UNICAST)
    publication = pair.add_publication(UNICAST + "|ttl=8", 1001)

    pair.run_until(lambda: publication.is_connected)

    assert pair.receiver.counted("possible_ttl_asymmetry") == 0


def test_nothing_is_received_from_a_group_after_leaving_it(pair, mds):
    group, _ = connect(pair, mds, PAIRS[0])

    pair.result(mds.remove_destination_async(GROUP))

    pair.run_until(lambda: not group.is_connected)
    assert len(mds.images) == 1
