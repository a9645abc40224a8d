"""Counters and snapshots without a driver."""

from dataclasses import replace
from pathlib import Path

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.observation import DriverSnapshot, DriverState

CHANNEL = "aeron:udp?endpoint=localhost:20121"
SESSION_ID = 7
STREAM_ID = 1001
CLIENT_ID = 71
WINDOW = 64 * 1024

#: Ids of the logs and subscriptions of `records_of`.
PUBLICATION, IMAGE, SUBSCRIPTION, SPY = 3, 5, 9, 11

_NAMES = {
    "pub_pos": (types.PUBLISHER_POSITION, "pub-pos (concurrent)", PUBLICATION),
    "pub_lmt": (types.PUBLISHER_LIMIT, "pub-lmt", PUBLICATION),
    "snd_pos": (types.SENDER_POSITION, "snd-pos", PUBLICATION),
    "snd_lmt": (types.SENDER_LIMIT, "snd-lmt", PUBLICATION),
    "rcv_hwm": (types.RECEIVER_HWM, "rcv-hwm", IMAGE),
    "rcv_pos": (types.RECEIVER_POSITION, "rcv-pos", IMAGE),
    "cubic": (types.PER_IMAGE, "rcv-cc-cubic-wnd", IMAGE),
    "ipc_sub": (types.SUBSCRIBER_POSITION, "sub-pos", SUBSCRIPTION),
    "sub_pos": (types.SUBSCRIBER_POSITION, "sub-pos", SUBSCRIPTION),
    "spy": (types.SUBSCRIBER_POSITION, "sub-pos", SPY),
}


def record(type_id, name, value, owner, *, counter_id=0, reference_id=0, suffix=""):
    """Return a counter of a stream; `owner`: a CounterOwner."""
    return CounterRecord(
        id=counter_id, state=1, type_id=type_id, free_for_reuse_deadline_ms=0,
        key=owner.key().ljust(112, b"\0"), label=owner.label(name) + suffix, value=value,
        registration_id=owner.registration_id, owner_id=owner.client_id, reference_id=reference_id,
    )  # fmt: skip


def heartbeat(client_id=CLIENT_ID, label_end=" name=app version=1.2.3 commit=abc pid=4711", value=1):
    label = f"client-heartbeat: id={client_id}{label_end}"
    return CounterRecord(
        90, 1, types.CLIENT_HEARTBEAT, 0, types.client_key(client_id).ljust(112, b"\0"), label, value,
        client_id, client_id, 0,
    )  # fmt: skip


def records_of(channel=CHANNEL, **positions):
    """Return the counters of one stream, by the names of `_NAMES`, in this order."""
    found = []
    for counter_id, (name, value) in enumerate(positions.items()):
        type_id, label, identity = _NAMES[name]
        owner_channel = "aeron-spy:" + channel.removeprefix("aeron:") if name == "spy" else channel
        owner = CounterOwner(identity, SESSION_ID, STREAM_ID, owner_channel, CLIENT_ID)
        reference = {"sub_pos": IMAGE, "ipc_sub": PUBLICATION, "spy": PUBLICATION}.get(name, 0)
        found.append(record(type_id, label, value, owner, counter_id=counter_id, reference_id=reference))
    return found


def snapshot(*records, at_s=0.0, logs=None, pid=1):
    """Return a snapshot with these counters, taken `at_s` seconds after an arbitrary time."""
    return DriverSnapshot(
        time_ns=int(1.7e18 + at_s * 1e9),
        monotonic_ns=int(1e9 + at_s * 1e9),
        driver=DriverState(Path("/a/driver"), is_alive=True, pid=pid, start_timestamp_ms=5),
        counters=tuple(replace(each, id=number) for number, each in enumerate(records)),
        logs=logs or {},
    )
