"""The Java client behind the methods of `our_client`, so that a test can exchange their roles.

Methods that take long return futures: both sides of a stream must run at once.
"""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

from java_peer import JavaPeer
from party_facts import CounterFacts, ImageFacts, Rejection


class JavaObject:
    """An object of the JVM."""

    def __init__(self, peer: JavaPeer, handle: str) -> None:
        self.peer = peer
        self.handle = handle

    def call(self, command: str, *arguments: object) -> str:
        """Run a command on the object."""
        return self.peer.call(command, self.handle, *arguments)

    def start(self, command: str, *arguments: object) -> Future[str]:
        """Start a command on the object."""
        return self.peer.start(command, self.handle, *arguments)

    def facts(self) -> dict[str, int]:
        """Return its numeric properties."""
        return _numbers(self.call("describe"))

    def close(self) -> None:
        """Close the object."""
        self.call("close")


def _numbers(text: str) -> dict[str, int]:
    pairs = (pair.split("=") for pair in text.split())
    return {
        name.replace("-", "_"): value == "true" if value in ("true", "false") else int(value)
        for name, value in pairs
    }


class JavaPublication(JavaObject):
    """A publication of a Java client."""

    @property
    def session_id(self) -> int:
        """Session id."""
        return self.facts()["session_id"]

    @property
    def registration_id(self) -> int:
        """Registration id."""
        return self.facts()["registration_id"]

    @property
    def is_connected(self) -> bool:
        """Whether a subscriber is connected."""
        return bool(self.facts()["is_connected"])

    @property
    def position(self) -> int:
        """Position, in bytes."""
        return self.facts()["position"]

    def await_connected(self) -> None:
        """Wait for a subscriber."""
        self.call("await-connected")

    def send(self, count: int) -> Future[str]:
        """Send that many messages."""
        return self.start("send", count)

    def send_numbers(self, count: int) -> None:
        """Send numbers in messages of 700 bytes, one after the other."""
        self.call("send-numbers", count)

    def offer(self, text: str) -> None:
        """Send one message."""
        self.call("offer", text)

    def add_destination(self, channel: str) -> None:
        """Add a destination."""
        self.call("add-destination", channel)

    def remove_destination(self, channel: str) -> None:
        """Remove a destination."""
        self.call("remove-destination", channel)

    def revoke(self) -> None:
        """Revoke an exclusive publication."""
        self.call("revoke")


class JavaSubscription(JavaObject):
    """A subscription of a Java client."""

    @property
    def registration_id(self) -> int:
        """Registration id."""
        return _numbers(self.call("describe").split(";")[0])["registration_id"]

    @property
    def images(self) -> list[ImageFacts]:
        """Its images."""
        return _images(self.call("describe"))

    def await_images(self, count: int) -> list[ImageFacts]:
        """Wait for that many images and return them."""
        return _images(self.call("await-images", count))

    def receive(self, count: int) -> Future[str]:
        """Receive that many messages, assembled from fragments, and return their checksum."""
        return self.start("receive", count)

    def receive_one(self) -> tuple[int, str]:
        """Receive one message and return its session id and text."""
        session_id, _, text = self.call("receive-first").partition(" ")
        return int(session_id), text

    def receive_timestamps(self) -> list[int]:
        """Receive one frame and return its reserved value and the first two numbers of its payload."""
        return [int(number) for number in self.call("receive-timestamps").split()]

    def receive_until_gap(self, last: int) -> Future[str]:
        """Receive numbered messages until `last`; return the count, the last number, and whether they grew."""
        return self.start("receive-until-gap", last)

    def respond(self, publication: JavaPublication, count: int) -> Future[str]:
        """Send received messages on a publication."""
        return self.start("respond", publication.handle, count)

    def resolved_endpoint(self) -> str:
        """Wait for the address that the driver has chosen and return it."""
        return self.call("resolved-endpoint")

    def reject(self, reason: str, index: int = 0) -> None:
        """Reject an image."""
        self.call("reject", index, reason)

    def await_end(self) -> Future[str]:
        """Wait for the end of the stream; return the final position and whether it was revoked."""
        return self.start("await-end")

    def await_events(self, available: int, unavailable: int) -> None:
        """Wait until that many images have become available and unavailable."""
        self.call("await-events", available, unavailable)

    def add_destination(self, channel: str) -> None:
        """Add a destination."""
        self.call("add-destination", channel)

    def remove_destination(self, channel: str) -> None:
        """Remove a destination."""
        self.call("remove-destination", channel)


def _images(text: str) -> list[ImageFacts]:
    return [ImageFacts(**_numbers(image)) for image in text.split(";")[1:] if image]


class JavaClient(JavaObject):
    """A Java client."""

    def __init__(self, peer: JavaPeer, directory: Path, driver_timeout_ms: int = 10_000) -> None:
        super().__init__(peer, peer.call("connect", directory, driver_timeout_ms))

    def publication(self, channel: str, stream_id: int = 1001, kind: str = "concurrent") -> JavaPublication:
        """Add a publication, `concurrent` or `exclusive`."""
        return JavaPublication(self.peer, self.call("publication", kind, channel, stream_id))

    def subscription(self, channel: str, stream_id: int = 1001) -> JavaSubscription:
        """Add a subscription."""
        return JavaSubscription(self.peer, self.call("subscription", channel, stream_id))

    def await_closed(self) -> None:
        """Wait until the client has closed itself."""
        self.call("await-closed")

    def await_rejection(self) -> Rejection:
        """Wait for a rejection."""
        numbers = self.call("rejection").split(" ", 5)
        registration_id, stream_id, code, host, destination_id, reason = numbers
        return Rejection(int(registration_id), int(stream_id), int(code), host, int(destination_id), reason)

    def add_counter(self, type_id: int, key: bytes, label: str) -> JavaObject:
        """Add a counter."""
        return JavaObject(self.peer, self.call("counter", type_id, key.hex(), label))

    def add_static_counter(self, type_id: int, key: bytes, label: str, registration_id: int) -> JavaObject:
        """Add a counter that outlives the client."""
        return JavaObject(self.peer, self.call("static-counter", type_id, key.hex(), label, registration_id))

    def counters(self) -> dict[str, CounterFacts]:
        """Return the counters of the driver by label."""
        found = {}
        for line in self.call("list-counters").split("\x1f")[:-1]:
            counter_id, type_id, value, owner_id, registration_id, label = line.split(" ", 5)
            found[label] = CounterFacts(
                int(counter_id), int(type_id), int(value), int(owner_id), int(registration_id)
            )
        return found
