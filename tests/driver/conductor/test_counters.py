"""Ids, types, keys, labels, owners and order of counters, on which tools of any origin rely."""

import os
import re

import pytest

from aeron_core.concurrent.counters import CountersReader
from aeron_core.errors import RegistrationError
from aeron_core.testing.pair import MS, S
from aeron_core.version import COMMIT, VERSION

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
LONE_CHANNEL = "aeron:udp?endpoint=127.0.0.1:20121"

# The table of the reference's system counters; <v> stands for our version.
SYSTEM_LABELS = """\
Bytes sent
Bytes received
Failed offers to ReceiverProxy
Failed offers to SenderProxy
Failed offers to DriverConductorProxy
NAKs sent
NAKs received
Status Messages sent
Status Messages received
Heartbeats sent
Heartbeats received
Retransmits sent
Flow control under runs
Flow control over runs
Invalid packets
Errors: <v>
Short sends
Failed attempts to free log buffers
Sender flow control limits, i.e. back-pressure events
Unblocked Publications
Unblocked Control Commands
Possible TTL Asymmetry
ControllableIdleStrategy status
Loss gap fills
Client liveness timeouts
Resolution changes: driverName=
Conductor max cycle time doing its work in ns: INVOKER
Conductor work cycle exceeded threshold count: threshold=100ms INVOKER
Sender max cycle time doing its work in ns: INVOKER
Sender work cycle exceeded threshold count: threshold=100ms INVOKER
Receiver max cycle time doing its work in ns: INVOKER
Receiver work cycle exceeded threshold count: threshold=100ms INVOKER
NameResolver max time in ns
NameResolver exceeded threshold count: threshold=5s
Aeron software: <v>
Bytes currently mapped
Retransmitted bytes
Retransmit Pool Overflow count
Error Frames received
Error Frames sent
Publications Revoked
Publication Images Revoked
Images rejected
Control protocol version
Status Messages rejected
Failed offers to NativeResourceAgentProxy""".splitlines()


def i32(value):
    return value.to_bytes(4, "little", signed=True)


def i64(value):
    return value.to_bytes(8, "little", signed=True)


def stream_key(registration_id, session_id, stream_id, channel):
    text = channel.encode()[:92]
    return (i64(registration_id) + i32(session_id) + i32(stream_id) + i32(len(text)) + text).ljust(112, b"\0")


def channel_key(channel):
    text = channel.encode()[:108]
    return (i32(len(text)) + text).ljust(112, b"\0")


def new_counters(driver, before):
    """Return (type, name) of the counters allocated since `before`."""
    return [(r.type_id, r.label.split(":")[0]) for r in driver.counters if r.id >= before]


def test_system_counters_have_the_ids_labels_and_keys_of_the_reference(lone):
    version = "version="

    records = [lone.driver.counters.record(index) for index in range(len(SYSTEM_LABELS))]

    for index, (record, expected) in enumerate(zip(records, SYSTEM_LABELS, strict=True)):
        label = record.label
        if "<v>" in expected:
            start, _, rest = label.partition(version)
            assert start == expected.partition("<v>")[0]
            assert re.fullmatch(r"\d+\.\d+\.\d+ commit=([0-9a-f]{10,}(\+guilty)?|unknown)", rest)
            assert rest == f"{VERSION} commit={COMMIT}"
        else:
            assert label == expected
        assert (record.id, record.type_id, record.registration_id, record.owner_id) == (index, 0, index, -1)
        assert record.key == i32(index).ljust(112, b"\0")
    assert records[43].value == 65536


def test_counters_of_a_network_publication_are_allocated_in_the_order_of_the_reference(pair):
    client_id = pair.publisher.client_id
    publication = pair.add_publication(CHANNEL, 1001)
    exclusive = pair.add_exclusive_publication(CHANNEL, 1001)

    assert new_counters(pair.sender, 46) == [
        (11, "client-heartbeat"),
        (6, "snd-channel"),
        (14, "snd-local-sockaddr"),
        *[(12, "pub-pos (concurrent)"), (1, "pub-lmt"), (2, "snd-pos")],
        *[(9, "snd-lmt"), (13, "snd-bpe"), (19, "snd-naks-received")],
        *[(12, "pub-pos (exclusive)"), (1, "pub-lmt"), (2, "snd-pos")],
        *[(9, "snd-lmt"), (13, "snd-bpe"), (19, "snd-naks-received")],
    ]
    record = pair.sender.find_counters("snd-lmt")[0]
    id_, session_id = publication.registration_id, publication.session_id
    assert record.label == f"snd-lmt: {id_} {session_id} 1001 {CHANNEL}"
    assert record.key == stream_key(id_, session_id, 1001, CHANNEL)
    assert (record.registration_id, record.owner_id) == (id_, client_id)
    assert pair.sender.find_counters("snd-lmt")[1].registration_id == exclusive.registration_id


def test_counters_of_an_image_are_allocated_in_the_order_of_the_reference(pair):
    channel = f"{CHANNEL}|rcv-wnd=16k"
    first = pair.add_subscription(channel, 1001)
    second = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(CHANNEL, 1001)
    pair.run_until(lambda: first.is_connected and second.is_connected)

    assert new_counters(pair.receiver, 46) == [
        (11, "client-heartbeat"),
        (7, "rcv-channel"),
        (14, "rcv-local-sockaddr"),
        (3, "rcv-hwm"),
        (5, "rcv-pos"),
        (20, "rcv-naks-sent"),
        (4, "sub-pos"),
        (4, "sub-pos"),
    ]
    image_id, session_id = first.images[0].correlation_id, publication.session_id
    high_water_mark = pair.receiver.find_counter("rcv-hwm")
    assert high_water_mark.key == stream_key(image_id, session_id, 1001, channel)
    assert high_water_mark.owner_id == pair.subscriber.client_id
    position = pair.receiver.find_counters("sub-pos")[1]
    assert position.label == f"sub-pos: {second.registration_id} {session_id} 1001 {CHANNEL} @0"
    assert (position.registration_id, position.reference_id) == (second.registration_id, image_id)


def test_counters_of_an_ipc_publication_are_two(lone):
    publication = lone.add_publication("aeron:ipc?alias=x", 1001)
    subscription = lone.add_subscription("aeron:ipc", 1001)
    lone.run_until(lambda: subscription.is_connected)

    assert new_counters(lone.driver, 47) == [
        (12, "pub-pos (concurrent)"),
        (1, "pub-lmt"),
        (4, "sub-pos"),
    ]
    assert lone.driver.find_counter("sub-pos").reference_id == publication.registration_id


def test_channels_publish_their_status_and_bound_addresses(pair):
    subscription = pair.add_subscription(CHANNEL, 1001)
    publication = pair.add_publication(CHANNEL, 1001)

    sending, receiving = pair.sender.find_counter("snd-channel"), pair.receiver.find_counter("rcv-channel")
    address = pair.receiver.find_counter("rcv-local-sockaddr")

    assert sending.label == f"snd-channel: {CHANNEL} 10.0.0.1:49152"
    assert receiving.label == f"rcv-channel: {CHANNEL} 10.0.0.2:20121"
    assert sending.key == receiving.key == channel_key(CHANNEL)
    assert (sending.value, receiving.value, address.value) == (1, 1, 1)
    assert address.label == f"rcv-local-sockaddr: {receiving.id} 10.0.0.2:20121"
    assert address.key == (i32(receiving.id) + i32(14) + b"10.0.0.2:20121").ljust(112, b"\0")
    assert publication.local_addresses() == ["10.0.0.1:49152"]
    assert subscription.local_addresses() == ["10.0.0.2:20121"]


def test_long_channels_are_truncated_in_keys_and_labels(lone):
    channel = f"aeron:ipc?alias={'a' * 600}"

    publication = lone.add_publication(channel, 1001)

    record = lone.driver.find_counter("pub-lmt")
    assert record.key == stream_key(publication.registration_id, publication.session_id, 1001, channel)
    assert len(record.label) == 380


def test_a_client_heartbeat_has_the_id_of_its_client(lone):
    lone.result(lone.client.add_counter_async(5, b"", "x"))
    lone.run_for(1 * S)

    record = lone.driver.find_counter("client-heartbeat")

    assert record.label.startswith(f"client-heartbeat: id={lone.client.client_id} name= version=")
    assert record.label.endswith(f" pid={os.getpid()}")
    assert record.key == i64(lone.client.client_id).ljust(112, b"\0")
    assert record.registration_id == record.owner_id == lone.client.client_id
    assert record.value >= lone.clock.epoch_ms() - 501


def test_static_counters_outlive_their_client_and_are_found_again(lone):
    first = lone.result(lone.client.add_static_counter_async(77, 5, b"key", "static"))
    again = lone.result(lone.client.add_static_counter_async(77, 5, b"other", "other"))
    other = lone.result(lone.client.add_static_counter_async(77, 6, b"", "another"))
    lone.client.close()
    lone.run_for(15 * S)

    record = lone.driver.find_counter("static")
    assert first.id == again.id == record.id != other.id
    assert (record.type_id, record.registration_id, record.owner_id) == (77, 5, -1)
    assert record.key == b"key".ljust(112, b"\0")


def test_a_static_counter_cannot_have_the_type_and_id_of_another_counter(lone):
    counter = lone.result(lone.client.add_counter_async(77, b"", "mine"))
    registration = lone.client.add_static_counter_async(77, counter.registration_id, b"", "static")
    lone.run_until(lambda: registration.is_done)

    with pytest.raises(RegistrationError, match="a non-static counter exists"):
        registration.poll()


def test_the_id_of_a_freed_counter_is_not_reused_for_a_second(lone):
    counter = lone.result(lone.client.add_counter_async(77, b"", "mine"))
    counter.close()
    lone.run_for(10 * MS)
    soon = lone.result(lone.client.add_counter_async(77, b"", "soon"))
    lone.run_for(1 * S)
    later = lone.result(lone.client.add_counter_async(77, b"", "later"))

    assert soon.id != counter.id == later.id


def test_counters_can_be_read_without_the_driver(lone):
    reader = CountersReader(lone.driver.cnc.counters_metadata, lone.driver.cnc.counters_values)

    assert len(list(reader)) == len(SYSTEM_LABELS)


@pytest.mark.parametrize("channel", [b"aeron:ipc?alias=\xa7", LONE_CHANNEL.encode() + b"|alias=\xa7"])
def test_a_channel_with_bytes_that_are_not_utf_8_is_accepted_and_kept_in_the_keys_of_its_counters(
    lone, channel
):
    lone.add_publication(channel.decode("utf-8", "surrogateescape"), 1001)

    (counter,) = lone.driver.find_counters("pub-pos")
    assert channel in counter.key
    assert lone.driver.errors() == []
