"""Scenarios in which a client did more than publish or subscribe."""

import pytest
from captures import Capture
from replaying import Publisher

from aeron_core.protocol import commands
from aeron_core.protocol.frames import DataHeader, Rttm, Setup, StatusMessage
from aeron_core.testing.frames import encode_frame
from aeron_core.testing.pair import MS, US

MTU = 1408


def frames_by(capture, party, kind):
    return [
        (datagram.time_ns, frame.header)
        for datagram in capture.sent_by(party)
        for frame in datagram.frames
        if isinstance(frame.header, kind)
    ]


# 05: round-trip time measurement


def test_05_a_sender_replies_to_each_measurement_as_the_real_one(start_replay):
    capture = Capture("05-rttm", fills_holes=True)
    replay = start_replay(capture, "pub")

    replay.run(Publisher(replay, "aeron:udp?endpoint=127.0.0.1:24041|term-length=64k").on_own)

    ours, theirs = replay.decided, replay.captured_decisions()
    assert ours.of(Rttm, *Rttm().names()) == theirs.of(Rttm, *Rttm().names())
    assert ours.data == theirs.data


def test_05_a_receiver_measures_the_rtt_and_opens_its_window_as_the_real_one(start_replay):
    capture = Capture("05-rttm", fills_holes=True)
    replay = start_replay(capture, "sub", cubic_measure_rtt=True, congestion_control="cubic")
    replay.subscribe("aeron:udp?endpoint=127.0.0.1:24041", 1005)
    sender = capture.datagrams[0].source

    def answer(at_most_ns):
        """Send the sender's reply at once: the captured replies belong to other times."""
        before = len(replay.sent)
        replay.step(at_most_ns)
        for datagram in replay.sent[before:]:
            request = datagram.frames[0].header
            if isinstance(request, Rttm):
                reply = encode_frame(Rttm(**fields_of(request) | {"flags": 0}))
                replay.send_captured(capture.datagrams[0]._replace(data=reply, source=sender))

    for datagram in capture.sent_by("pub"):
        while replay.now_ns < datagram.time_ns:
            answer(datagram.time_ns - replay.now_ns)
        if not is_rttm(capture, datagram):
            replay.send_captured(datagram)

    ours, theirs = replay.decided, replay.captured_decisions()
    assert ours.windows[0] == theirs.windows[0]
    windows = [window for *_, window, _, _ in ours.windows]
    captured = [window for *_, window, _, _ in theirs.windows]
    # How often the window grew before it was sent depends on the number of the receiver's duty cycles.
    for grown in (windows, captured):
        assert grown == sorted(grown)
        assert all(window % MTU == 0 for window in grown)
    requests = ours.of(Rttm, "session_id", "stream_id", "flags", "reception_delta")
    assert requests == theirs.of(Rttm, "session_id", "stream_id", "flags", "reception_delta")


def is_rttm(capture, datagram):
    return isinstance(datagram.frames[0].header, Rttm)


def fields_of(frame):
    return {name: getattr(frame, name) for name in frame.names()}


# 06: flow control of groups


@pytest.mark.parametrize(
    ("name", "channel"),
    [
        ("06a-flow-control-min-group", "control=127.0.0.1:24051|control-mode=dynamic|fc=min,g:/2"),
        ("06b-flow-control-tagged", "control=127.0.0.1:24055|control-mode=dynamic|fc=tagged,g:1001/2"),
    ],
)
def test_06_the_publication_is_connected_after_as_many_receivers_as_the_real_one_was(
    start_replay, name, channel
):
    capture = Capture(name)
    replay = start_replay(capture, "pub")
    publisher = Publisher(replay, f"aeron:udp?{channel}|term-length=64k")
    publisher.publish(capture.setup_of("pub"))
    connected, begin_ns = [], 0

    joined = {
        next(
            at
            for at, sm in frames_by(capture, entry["after_subscriber"], StatusMessage)
            if sm.receiver_window
        )
        for entry in capture.facts["connected_after"]
    }
    for at in sorted(joined):
        replay.run(begin_ns=begin_ns, end_ns=at + 40 * MS)
        begin_ns = at + 40 * MS
        connected.append(publisher.publication.is_connected)

    assert connected == [entry["publication_connected"] for entry in capture.facts["connected_after"]]


# 07a: destinations set by the client


def test_07a_each_destination_receives_the_same_as_from_the_real_sender(start_replay):
    capture = Capture("07a-mdc-manual")
    replay = start_replay(capture, "pub")
    publisher = Publisher(replay, "aeron:udp?control-mode=manual|term-length=64k")
    publisher.publish(capture.setup_of("pub"))
    first, second = (f"aeron:udp?endpoint=127.0.0.1:{port}" for port in (24071, 24072))
    replay.simulation.result(publisher.publication.add_destination_async(first))
    # The capture begins with the first setup that was received.
    replay.start_when(lambda: replay.sent)
    actions = {
        first_to(capture, 24072).time_ns - 10 * MS: ("add", second),
        last_to(capture, 24071).time_ns + 10 * MS: ("remove", first),
    }

    def on_own(datagram):
        for at, (verb, channel) in list(actions.items()):
            if at <= datagram.time_ns:
                del actions[at]
                add, remove = (
                    publisher.publication.add_destination_async,
                    publisher.publication.remove_destination_async,
                )
                replay.simulation.result((add if verb == "add" else remove)(channel))
        publisher.on_own(datagram)

    replay.run(on_own)

    ours, theirs = replay.decided, replay.captured_decisions()
    assert ours.destinations == theirs.destinations
    assert ours.data == theirs.data
    assert ours.setups[0] == theirs.setups[0]
    assert not actions


def first_to(capture, port):
    return next(d for d in capture.sent_by("pub") if d.destination[1] == port)


def last_to(capture, port):
    return [d for d in capture.sent_by("pub") if d.destination[1] == port][-1]


# 08: one subscription, several destinations


def test_08_one_image_of_two_senders_and_a_second_of_another_session(start_replay):
    capture = Capture("08-mds")
    replay = start_replay(capture, "sub")
    subscription = replay.subscribe("aeron:udp?control-mode=manual", 1008)
    first, second = (f"aeron:udp?endpoint=127.0.0.1:{port}" for port in (24111, 24112))
    for channel in (first, second):
        replay.simulation.result(subscription.add_destination_async(channel))
    new_session = next(at for at, setup in frames_by(capture, "pub2", Setup) if setup.session_id == 4242)
    # Nothing is sent on the first destination from then on.
    removed = [one.time_ns for one in capture.sent_by("sub") if one.source[1] == 24111][-1] + 10 * MS

    replay.run(end_ns=new_session - MS)
    image_count = subscription.image_count
    replay.run(begin_ns=new_session - MS, end_ns=removed)
    replay.simulation.result(subscription.remove_destination_async(first))
    replay.run(begin_ns=removed)

    ours, theirs = replay.decided, replay.captured_decisions()
    assert image_count == capture.facts["images_while_same_session"]
    assert ours.windows == theirs.windows
    assert ours.naks == theirs.naks == []
    assert answered(ours) == answered(theirs)
    messages = [(one["session_id"], one["position"], one["length"]) for one in capture.facts["received"]]
    received = [(session, position, len(payload)) for session, position, payload in replay.received]
    assert sorted(received) == sorted(messages)
    assert {
        session: image.session_id for session, image in ((one.session_id, one) for one in subscription.images)
    } == {880088: 880088, 4242: 4242}


def answered(decisions):
    """Return the destination, the address and the session of each response."""
    return {
        (frame.header.session_id, datagram.source, datagram.destination)
        for datagram in decisions.datagrams
        for frame in datagram.frames
        if isinstance(frame.header, StatusMessage)
    }


# 13: images that a client rejects


@pytest.mark.parametrize(
    ("name", "channel"),
    [
        ("13a-error-frame", "aeron:udp?endpoint=127.0.0.1:24211"),
        (
            "13b-error-frame-group-tag",
            "aeron:udp?endpoint=127.0.0.1:24214|control=127.0.0.1:24213|control-mode=dynamic|gtag=77",
        ),
    ],
)
def test_13_a_receiver_whose_client_rejects_an_image_sends_an_error(start_replay, name, channel):
    capture = Capture(name)
    replay = start_replay(capture, "sub")
    subscription = replay.subscribe(channel, 1013)
    data = [at for at, header in frames_by(capture, "pub", DataHeader) if header.frame_length]

    replay.run(end_ns=data[-1] + MS)
    reject(replay, subscription.images[0], capture.facts["reason"])
    replay.run(begin_ns=data[-1] + MS)

    ours, theirs = replay.decided, replay.captured_decisions()
    assert ours.errors == theirs.errors
    assert ours.windows == theirs.windows


def reject(replay, image, reason):
    """Do the same as `Image.reject`, which would wait for a driver that only this test steps."""
    operations = replay.client._operations
    replay.simulation.result(
        operations.command("reject", commands.RejectImage, image.correlation_id, image.position, reason)
    )


# 14c: a subscription without retransmission


def test_14c_gaps_are_filled_as_by_the_real_receiver_and_no_nak_is_sent(start_replay):
    capture = Capture("14c-unreliable")
    arrived = {one["position"] for one in capture.facts["received"]}
    initial_term_id = capture.setup_of("pub").initial_term_id

    def is_lost(capture, datagram):
        frame = datagram.frames[0]
        if not frame.is_data:
            return False
        assert frame.header.term_id == initial_term_id
        return frame.header.term_offset + frame.aligned_length not in arrived

    replay = start_replay(capture, "sub", is_lost=is_lost)
    replay.subscribe("aeron:udp?endpoint=127.0.0.1:24233|reliable=false", 1015)
    replay.run()

    assert len(replay.received) == capture.facts["received_count"]
    assert [position for _, position, _ in replay.received] == sorted(arrived)
    assert replay.decided.naks == replay.captured_decisions().naks == []


# 17b: channel timestamps


def test_17b_a_sender_stores_timestamps_at_the_same_offset_as_the_real_one(start_replay):
    capture = Capture("17b-channel-timestamps")
    replay = start_replay(capture, "pub")
    publisher = Publisher(
        replay, "aeron:udp?endpoint=127.0.0.1:24281|term-length=64k|channel-snd-ts-offset=reserved"
    )

    replay.run(publisher.on_own)

    ours, theirs = replay.decided.data, replay.captured_decisions().data
    without_time = [(*fields[:6], payload) for *fields, payload in ours]
    assert without_time == [(*fields[:6], payload) for *fields, payload in theirs]
    epoch_ns = replay.simulation.clock.epoch_ns() - replay.now_ns
    for at, header in [
        (d.time_ns, f.header) for d in replay.decided.datagrams for f in d.frames if f.is_data
    ]:
        assert header.reserved_value - epoch_ns == pytest.approx(at, abs=200 * US)


def test_17b_a_receiver_stores_timestamps_at_the_same_offset_as_the_real_one(start_replay):
    capture = Capture("17b-channel-timestamps")
    replay = start_replay(capture, "sub")
    replay.subscribe("aeron:udp?endpoint=127.0.0.1:24281|channel-rcv-ts-offset=0", 1018)

    replay.run()

    epoch_ns = replay.simulation.clock.epoch_ns() - replay.now_ns
    sent = [(at, one) for at, one in frames_by(capture, "pub", DataHeader) if one.frame_length]
    assert len(replay.received) == len(sent) == len(capture.facts["received"])
    for (at, _), (_, _, payload), theirs in zip(
        sent, replay.received, capture.facts["received"], strict=True
    ):
        assert payload[8:] == bytes.fromhex(theirs["data_hex"])[8:]
        assert int.from_bytes(payload[:8], "little") - epoch_ns == pytest.approx(at, abs=300 * US)
