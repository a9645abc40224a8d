"""Every client command, encoded as bytes, and the responses of a driver."""

from __future__ import annotations

import time
from dataclasses import dataclass

from party_facts import own_address

from aeron_core.concurrent.broadcast_receiver import BroadcastReceiver
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import ErrorCode
from aeron_core.protocol import commands as c
from aeron_core.protocol import responses
from aeron_core.protocol.cnc import CncFile

DEADLINE_S = 60
CLIENT, STRANGER, OBSERVER = 1_000_000, 2_000_000, 3_000_000
IPC = "aeron:ipc"
UDP, ELSEWHERE = (f"aeron:udp?endpoint={own_address()}:{port}" for port in (24700, 24701))
MANUAL, SPY = "aeron:udp?control-mode=manual", f"aeron-spy:{UDP}"


def error(correlation_id, code):
    return ("OnError", correlation_id, code)


def success(correlation_id):
    return ("OnOperationSuccess", correlation_id)


def image(subscription, stream_id, source=IPC):
    return ("OnAvailableImage", subscription, stream_id, source)


def no_image(subscription, stream_id):
    return ("OnUnavailableImage", subscription, stream_id)


def publication(correlation_id, registration_id, *, has_status):
    return ("OnPublicationReady", correlation_id, registration_id, has_status)


def exclusive(correlation_id, *, has_status):
    return ("OnExclusivePublicationReady", correlation_id, correlation_id, has_status)


def subscription(correlation_id, *, has_status):
    return ("OnSubscriptionReady", correlation_id, has_status)


def counter(correlation_id):
    return ("OnCounterReady", correlation_id)


def no_counter(registration_id):
    return ("OnUnavailableCounter", registration_id)


NO_SUBSCRIPTION, NO_PUBLICATION, NO_COUNTER = (
    ErrorCode.UNKNOWN_SUBSCRIPTION,
    ErrorCode.UNKNOWN_PUBLICATION,
    ErrorCode.UNKNOWN_COUNTER,
)
INVALID, GENERIC = ErrorCode.INVALID_CHANNEL, ErrorCode.GENERIC_ERROR

#: Commands in order, and their responses.
SCRIPT = [
    # An unknown client, with commands that do not register it.
    (c.RemovePublication(STRANGER, 1, 99), [error(1, NO_PUBLICATION)]),
    (c.RemoveSubscription(STRANGER, 2, 99), [error(2, NO_SUBSCRIPTION)]),
    (c.RemoveCounter(STRANGER, 3, 99), [error(3, NO_COUNTER)]),
    (c.AddDestination(STRANGER, 4, 99, UDP), [error(4, NO_PUBLICATION)]),
    (c.RemoveDestination(STRANGER, 5, 99, UDP), [error(5, NO_PUBLICATION)]),
    (c.AddRcvDestination(STRANGER, 6, 99, UDP), [error(6, NO_SUBSCRIPTION)]),
    (c.AddRcvDestination(STRANGER, 7, 99, IPC), [error(7, NO_SUBSCRIPTION)]),
    (c.AddRcvDestination(STRANGER, 8, 99, SPY), [error(8, NO_SUBSCRIPTION)]),
    (c.RemoveRcvDestination(STRANGER, 9, 99, UDP), [error(9, NO_SUBSCRIPTION)]),
    (c.RemoveRcvDestination(STRANGER, 10, 99, IPC), [error(10, NO_SUBSCRIPTION)]),
    (c.RemoveRcvDestination(STRANGER, 11, 99, SPY), [error(11, NO_SUBSCRIPTION)]),
    (c.RejectImage(STRANGER, 12, 99, 0, "no"), [error(12, GENERIC)]),
    (c.ClientKeepalive(STRANGER, 13), []),
    (c.ClientClose(STRANGER, 14), []),
    (c.TerminateDriver(STRANGER, 15, b"x"), []),
    # Counters.
    (c.AddCounter(CLIENT, 101, 1001, b"key", "label"), [counter(CLIENT), counter(101)]),
    (c.AddCounter(CLIENT, 102, 1001, b"", ""), [counter(102)]),
    (c.AddStaticCounter(CLIENT, 103, 55, 1002, b"key", "label"), [("OnStaticCounter", 103)]),
    (c.AddStaticCounter(CLIENT, 104, 55, 1002, b"key", "label"), [("OnStaticCounter", 104)]),
    (c.AddStaticCounter(CLIENT, 105, 101, 1001, b"key", "label"), [error(105, GENERIC)]),
    (c.RemoveCounter(CLIENT, 106, 101), [success(106), no_counter(101)]),
    (c.RemoveCounter(CLIENT, 107, 101), [error(107, NO_COUNTER)]),
    (c.RemoveCounter(STRANGER, 108, 102), [error(108, NO_COUNTER)]),
    (c.RemoveCounter(CLIENT, 109, 55), [error(109, NO_COUNTER)]),
    # Shared memory.
    (c.AddPublication(CLIENT, 200, 1001, "aeron:udp?endpoint="), [error(200, INVALID)]),
    (c.AddSubscription(CLIENT, 200, -1, 1001, "aeron:ipc?reliable=x"), [error(200, GENERIC)]),
    (c.AddSubscription(CLIENT, 201, -1, 1001, IPC), [subscription(201, has_status=False)]),
    (
        c.AddPublication(CLIENT, 202, 1001, IPC),
        [publication(202, 202, has_status=False), image(201, 1001)],
    ),
    (c.AddPublication(CLIENT, 203, 1001, IPC), [publication(203, 202, has_status=False)]),
    (
        c.AddExclusivePublication(CLIENT, 204, 1001, IPC),
        [exclusive(204, has_status=False), image(201, 1001)],
    ),
    (
        c.AddSubscription(CLIENT, 205, -1, 1001, IPC),
        [subscription(205, has_status=False), image(205, 1001), image(205, 1001)],
    ),
    (c.RemovePublication(STRANGER, 208, 202), [error(208, NO_PUBLICATION)]),
    (
        c.RejectImage(CLIENT, 210, 202, 0, "not wanted"),
        [
            ("OnPublicationError", 202, -1, ErrorCode.IMAGE_REJECTED),
            no_image(201, 1001),
            no_image(205, 1001),
            success(210),
        ],
    ),
    (c.RejectImage(CLIENT, 211, 202, 0, "x" * 1024), [error(211, GENERIC)]),
    (c.RemovePublication(CLIENT, 212, 203), [success(212)]),
    (c.RemovePublication(CLIENT, 213, 204, 1), [success(213), no_image(201, 1001), no_image(205, 1001)]),
    (c.RemovePublication(CLIENT, 214, 202, None), [success(214)]),
    (c.RemoveSubscription(CLIENT, 215, 201), [success(215)]),
    (c.RemoveSubscription(CLIENT, 216, 205), [success(216)]),
    (c.RemoveSubscription(CLIENT, 217, 205), [error(217, NO_SUBSCRIPTION)]),
    # Network resources.
    (c.AddSubscription(CLIENT, 301, -1, 1002, SPY), [subscription(301, has_status=False)]),
    (
        c.AddPublication(CLIENT, 302, 1002, UDP),
        [publication(302, 302, has_status=True), image(301, 1002)],
    ),
    (
        c.AddSubscription(CLIENT, 303, -1, 1002, SPY),
        [subscription(303, has_status=False), image(303, 1002)],
    ),
    (
        c.AddSubscription(CLIENT, 304, -1, 1002, UDP),
        [subscription(304, has_status=True), image(304, 1002, "an address")],
    ),
    (
        c.AddSubscription(CLIENT, 305, -1, 1002, UDP),
        [subscription(305, has_status=True), image(305, 1002, "an address")],
    ),
    # Destinations of a publication.
    (c.AddDestination(CLIENT, 310, 302, ELSEWHERE), [error(310, GENERIC)]),
    (c.RemoveDestination(CLIENT, 311, 302, ELSEWHERE), [error(311, GENERIC)]),
    (c.AddExclusivePublication(CLIENT, 312, 1003, MANUAL), [exclusive(312, has_status=True)]),
    (c.AddDestination(CLIENT, 313, 312, ELSEWHERE), [success(313)]),
    (c.AddDestination(STRANGER, 314, 312, ELSEWHERE), [success(314)]),
    (c.AddDestination(CLIENT, 315, 312, SPY), [error(315, INVALID)]),
    (c.AddDestination(CLIENT, 316, 312, IPC), [error(316, GENERIC)]),
    (c.AddDestination(CLIENT, 317, 312, f"{ELSEWHERE}|mtu=8k"), [error(317, INVALID)]),
    (c.RemoveDestination(CLIENT, 318, 312, ELSEWHERE), [success(318)]),
    (c.RemoveDestination(CLIENT, 319, 312, UDP), [success(319)]),
    (c.RemoveDestination(CLIENT, 320, 312, IPC), [error(320, GENERIC)]),
    (c.RemoveDestinationById(CLIENT, 321, 312, 313), [success(321)]),
    (c.RemoveDestinationById(CLIENT, 322, 312, 77), [success(322)]),
    # Destinations of a subscription.
    (c.AddRcvDestination(CLIENT, 400, 304, ELSEWHERE), [error(400, INVALID)]),
    (c.RemoveRcvDestination(CLIENT, 400, 304, ELSEWHERE), [error(400, INVALID)]),
    (c.AddRcvDestination(CLIENT, 400, 301, ELSEWHERE), [error(400, NO_SUBSCRIPTION)]),
    (c.AddSubscription(CLIENT, 401, -1, 1004, MANUAL), [subscription(401, has_status=True)]),
    (c.AddPublication(CLIENT, 402, 1004, IPC), [publication(402, 402, has_status=False)]),
    (c.AddPublication(CLIENT, 403, 1004, UDP), [publication(403, 403, has_status=True)]),
    (c.AddRcvDestination(CLIENT, 404, 401, ELSEWHERE), [success(404)]),
    (c.AddRcvDestination(CLIENT, 405, 401, ELSEWHERE), [error(405, GENERIC)]),
    (c.AddRcvDestination(CLIENT, 406, 401, IPC), [success(406), image(401, 1004)]),
    (c.AddRcvDestination(CLIENT, 407, 401, SPY), [success(407), image(401, 1004)]),
    (c.AddRcvDestination(CLIENT, 408, 401, f"{UDP}|mtu=8k"), [error(408, INVALID)]),
    (c.AddRcvDestination(STRANGER, 409, 401, IPC), [success(409), image(401, 1004)]),
    (c.RemoveRcvDestination(STRANGER, 410, 401, IPC), [success(410), no_image(401, 1004)]),
    (c.RemoveRcvDestination(CLIENT, 411, 401, IPC), [success(411), no_image(401, 1004)]),
    (c.RemoveRcvDestination(CLIENT, 412, 401, SPY), [success(412), no_image(401, 1004)]),
    (c.RemoveRcvDestination(CLIENT, 413, 401, SPY), [error(413, NO_SUBSCRIPTION)]),
    (c.RemoveRcvDestination(CLIENT, 414, 401, ELSEWHERE), [success(414)]),
    (c.RemoveRcvDestination(CLIENT, 415, 401, ELSEWHERE), [success(415)]),
    (c.RemoveSubscription(CLIENT, 416, 401), [success(416)]),
    # Close.
    (c.GetNextAvailableSessionId(CLIENT, 501, 1001), [("OnNextAvailableSessionId", 501)]),
    (c.ClientKeepalive(CLIENT, 502), []),
    (c.ClientClose(CLIENT, 503), [no_counter(CLIENT), no_counter(102)]),
    (c.AddCounter(CLIENT, 504, 1001, b"", ""), [counter(CLIENT), counter(504)]),
]


@dataclass
class RawClient:
    """Writes commands as bytes and reads the responses to all clients."""

    cnc: CncFile

    def __post_init__(self):
        self._ring = ManyToOneRingBuffer(self.cnc.to_driver)
        self._receiver = BroadcastReceiver(self.cnc.to_clients)
        self._fence = 0
        self._is_behind_fence = True
        self._answers = []

    def _take(self, type_id, buffer, offset, length):
        answer = responses.decode_response(type_id, buffer, offset, length)
        if isinstance(answer, responses.OnNextAvailableSessionId) and answer.correlation_id < 0:
            self._is_behind_fence = answer.correlation_id == self._fence
        else:
            self._answers.append(comparable(answer))

    def ask(self, command, count):
        """Return the responses when there are `count` of them and all earlier commands were read."""
        self._write(command)
        self._await(lambda: len(self._answers) >= count)
        # From another client: an unfinished command delays later commands of its own client.
        self._fence -= 1
        self._is_behind_fence = False
        self._write(c.GetNextAvailableSessionId(OBSERVER, self._fence, 1))
        self._await(lambda: self._is_behind_fence)
        answers, self._answers = self._answers, []
        return answers

    def _write(self, command):
        assert self._ring.write(command.TYPE_ID, command.encode())

    def _await(self, condition):
        deadline = time.monotonic() + DEADLINE_S
        while not condition() and time.monotonic() < deadline:
            while self._receiver.receive(self._take):
                pass


def comparable(answer):
    """Return the responses in a form that must be equal for both drivers."""
    match answer:
        case responses.OnError():
            rest = (answer.offending_correlation_id, answer.error_code)
        case responses.OnAvailableImage():
            source = IPC if answer.source_identity == IPC else "an address"
            rest = (answer.subscriber_registration_id, answer.stream_id, source)
        case responses.OnUnavailableImage():
            rest = (answer.subscription_registration_id, answer.stream_id)
        case responses.OnPublicationReady() | responses.OnExclusivePublicationReady():
            rest = (answer.correlation_id, answer.registration_id, answer.channel_status_indicator_id >= 0)
        case responses.OnSubscriptionReady():
            rest = (answer.correlation_id, answer.channel_status_indicator_id >= 0)
        case responses.OnUnavailableCounter():
            rest = (answer.registration_id,)
        case responses.OnPublicationError():
            rest = (answer.registration_id, answer.destination_registration_id, answer.error_code)
        case _:
            rest = (answer.correlation_id,)
    return (type(answer).__name__, *rest)
