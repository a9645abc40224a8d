"""Limitation of a log: the party that limits it, as data and as a sentence.

Not here: when a party limits a log (limits).
"""

from __future__ import annotations

from enum import StrEnum

from aeron_core.frozen import frozen
from aeron_core.observation.clients import ObservedClient
from aeron_core.observation.drivers import DriverState
from aeron_core.observation.streams import StreamKind, Subscriber


class Party(StrEnum):
    """The party that limits a stream."""

    NONE = "none"  # nothing limits the stream
    NOT_CONNECTED = "not-connected"  # there is no subscriber or receiver
    SUBSCRIBER = "subscriber"  # a subscriber, also a spy, reads too slowly or not at all
    SENDER = "sender"  # the sender of this driver may send and has not done so
    RECEIVER = "receiver"  # the flow control of a receiver
    LOSS = "loss"  # a receiver waits for a retransmission
    PEER = "peer"  # the peer of a connection has not confirmed


@frozen()
class Limitation:
    """What limits one log of a stream; `aeron_core.observation.limits` has the rules for when a party does.

    `is_publisher_limited`: the publisher itself is at its limit; False for images. `behind` is, in bytes, how far the
    party is behind: a subscriber behind what it could read; sender, receiver and peer behind the publisher; for a loss,
    what was received behind the gap. `subscriber` and `client` are set for SUBSCRIBER, `client` only if the counters
    include its heartbeat. `is_polling` is None without an earlier snapshot.

    `driver` has the party: for SUBSCRIBER, LOSS and RECEIVER that of the image, which may be another one than that of
    the log; None if no snapshot has the image. `source` is set for LOSS, if the loss report has an entry. `endpoint` is
    set for RECEIVER without a driver, if the channel names the address of the only receiver.
    """

    party: Party  # what limits the log
    stream_id: int  # id of the stream
    session_id: int  # id of the session
    registration_id: int  # of the log
    kind: StreamKind  # IPC, NETWORK, CONNECTION or IMAGE
    channel: str  # channel of the log
    is_publisher_limited: bool = False  # whether the publisher is at its limit
    behind: int | None = None  # bytes that the party is behind
    subscriber: Subscriber | None = None  # the subscriber that limits the log
    client: ObservedClient | None = None  # the client of the subscriber
    is_polling: bool | None = None  # whether the subscriber has moved since the earlier snapshot
    driver: DriverState | None = None  # driver of the party
    source: str = ""  # address from which the lost data was sent, as host:port
    endpoint: str = ""  # address of the receiver in the channel, as host:port

    @property
    def driver_text(self) -> str:
        """The driver of the party as text, such as `driver aeron-root of process 4711`; empty if unknown."""
        if self.driver is None:
            return ""
        name = self.driver.aeron_dir.name or str(self.driver.aeron_dir)
        return f"driver {name}" if self.driver.pid is None else f"driver {name} of process {self.driver.pid}"

    @property
    def sentence(self) -> str:
        """The limitation as a sentence without a final stop."""
        stream = f"stream {self.stream_id}"
        behind = "" if self.behind is None else f", {size_text(self.behind)} behind"
        if self.party is Party.NONE:
            return f"nothing holds {stream} back"
        if self.party is Party.NOT_CONNECTED:
            what = (
                "a receiver" if self.kind in (StreamKind.NETWORK, StreamKind.CONNECTION) else "a subscriber"
            )
            return f"{stream} waits for {what}: none is connected"
        if self.party is Party.SUBSCRIBER:
            return f"{self._subscriber_text()} holds {stream} back{behind}{self._polling_text()}"
        if self.party is Party.LOSS:
            return self._loss_text(stream)
        name = {
            Party.SENDER: "the sender of this driver",
            Party.PEER: "the peer of the connection",
            Party.RECEIVER: f"the flow control of {self._receiver_text()}",
        }[self.party]
        return f"{name} holds {stream} back{behind}"

    def _loss_text(self, stream: str) -> str:
        lost = "lost data" if self.driver is None else f"data lost on the way to {self.driver_text}"
        source = f" from {self.source}" if self.source else ""
        return f"{lost} holds {stream} back: {size_text(self.behind or 0)}{source} wait for a retransmission"

    def _receiver_text(self) -> str:
        if self.driver is not None:
            return f"the receiver in {self.driver_text}"
        return f"a receiver at {self.endpoint}" if self.endpoint else "a receiver"

    def _subscriber_text(self) -> str:
        if self.subscriber is None:
            return "a subscriber"
        text = f"{'spy' if self.subscriber.kind is StreamKind.SPY else 'subscriber'} {self.subscriber.registration_id}"
        if self.client is not None:
            return f"{text} of {self.client.description}"
        return text if self.subscriber.client_id < 0 else f"{text} of client {self.subscriber.client_id}"

    def _polling_text(self) -> str:
        return ", and does not poll" if self.is_polling is False else ""


def size_text(length: int) -> str:
    """Return a number of bytes as text with a decimal unit, such as `3.2 MB`."""
    value = float(length)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
