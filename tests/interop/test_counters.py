"""Our driver's counters equal those of the real one: types, keys, labels, owners, in the same order."""

from __future__ import annotations

import re
import time

import pytest

import aeron_core
from aeron_core.concurrent import counter_types
from aeron_core.concurrent.counters import CountersReader
from aeron_core.protocol.cnc import CNC_FILE, CncFile

pytestmark = pytest.mark.interop

UDP = "aeron:udp?endpoint=127.0.0.1:24911"
MDC = "aeron:udp?control=127.0.0.1:24912|control-mode=manual|fc=min"
MDS = "aeron:udp?control-mode=manual"
DESTINATION = "aeron:udp?endpoint=127.0.0.1:24913"
CHANNEL_TYPES = (
    counter_types.SEND_CHANNEL_STATUS,
    counter_types.RECEIVE_CHANNEL_STATUS,
    counter_types.MDC_DESTINATIONS,
)
SYSTEM = 0
#: Ports chosen by the operating system; those of the channels above are fixed.
PORT = re.compile(r"(?<=127\.0\.0\.1:)(?!249)\d+")
NUMBER = re.compile(r"-?\d+")
VERSION = re.compile(r"version=\S+ commit=\S*")


def await_image(subscription):
    deadline = time.monotonic() + 60
    while len(subscription.images) != 1:
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Scenario:
    """One of each resource with counters, and names for the numbers in their labels."""

    def __init__(self, aeron):
        # An image has counters too, and its arrival is asynchronous: wait for each.
        self.subscription = aeron.add_subscription(UDP + "|cc=cubic", 1001)
        self.publication = aeron.add_publication(UDP, 1001)
        await_image(self.subscription)
        self.exclusive = aeron.add_exclusive_publication(UDP, 1002)
        self.spy = aeron.add_subscription("aeron-spy:" + UDP, 1001)
        await_image(self.spy)
        self.mdc = aeron.add_publication(MDC, 1003)
        self.mdc.add_destination(DESTINATION)
        self.mds = aeron.add_subscription(MDS, 1003)
        self.mds.add_destination(DESTINATION)
        await_image(self.mds)
        self.ipc = aeron.add_publication("aeron:ipc", 1004)
        self.ipc_subscription = aeron.add_subscription("aeron:ipc", 1004)
        await_image(self.ipc_subscription)
        self.counter = aeron.add_counter(77, b"key", "a counter")
        self.resources = {
            name: value for name, value in vars(self).items() if hasattr(value, "registration_id")
        }
        self.names = {aeron.client_id: "client"}
        for name, resource in self.resources.items():
            self.names[resource.registration_id] = name
            for image in getattr(resource, "images", ()):
                self.names.setdefault(image.correlation_id, f"image of {name}")
            if hasattr(resource, "session_id"):
                self.names[resource.session_id] = f"session of {name}"


def listed(directory):
    """Return the counters of a driver, with names instead of numbers that differ between runs."""
    with aeron_core.connect(directory) as aeron:
        scenario = Scenario(aeron)
        cnc = CncFile.open(directory / CNC_FILE, read_only=True)
        records = list(CountersReader(cnc.counters_metadata, cnc.counters_values))
        status_ids = {record.id: record.label.split(":")[0] for record in records}
        return [described(record, scenario.names, status_ids) for record in records]


def counted(field):
    """Return length-prefixed text; the real driver does not clear the bytes after it."""
    return field[4 : 4 + int.from_bytes(field[:4], "little")].decode()


def described(record, names, status_ids):
    label = record.label
    key: object = record.key.rstrip(b"\0")
    if record.type_id == SYSTEM:
        return (record.id, VERSION.sub("version", label), key, record.registration_id, record.owner_id)
    if record.type_id in counter_types.STREAM_TYPES:
        owner = counter_types.owner_of(record)
        key = (names[owner.registration_id], names[owner.session_id], owner.stream_id, owner.channel)
    elif record.type_id == counter_types.LOCAL_SOCKADDR:
        status_id = int.from_bytes(record.key[:4], "little")
        label = label.replace(f" {status_id} ", f" {status_ids[status_id]} ")
        key = (status_ids[status_id], PORT.sub("port", counted(record.key[4:])))
    elif record.type_id in CHANNEL_TYPES:
        key = counted(record.key)
    elif record.type_id == counter_types.CLIENT_HEARTBEAT:
        key = names[int.from_bytes(record.key[:8], "little")]
        # The rest is appended by the client.
        label = " ".join(label.split()[:2]).replace("id=", "id= ")
    label = PORT.sub(
        "port", " ".join(str(names.get(word, word)) for word in map(number_of, label.split(" ")))
    )
    ids = [
        names.get(number, number) for number in (record.registration_id, record.owner_id, record.reference_id)
    ]
    return (record.type_id, label, key, *ids)


def is_heartbeat(line):
    return line[0] == counter_types.CLIENT_HEARTBEAT


def number_of(word):
    return int(word) if NUMBER.fullmatch(word) else word


@pytest.mark.compatible("counters", "both drivers have the same")
def test_both_drivers_have_the_same_counters(our_driver, foreign_driver):
    ours = listed(our_driver(AERON_THREADING_MODE="SHARED_NETWORK"))
    # The other driver uses its ports now.
    our_driver.peers[-1].stop()
    theirs = listed(foreign_driver())

    # The real driver creates a client's heartbeat counter after the resource of its first command.
    ours, theirs = (sorted(lines, key=is_heartbeat) for lines in (ours, theirs))
    assert ours == theirs
