"""Our client and the Java client behind the same methods, so that a test can exchange their roles.

Methods that take long return futures: both sides of a stream must run at once.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from java_peer import JavaPeer
from messages import Checksum, expected_checksum, message

import aeron_core

DEADLINE_S = 30


def await_true(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition is true; fail after 30 s."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"timeout while waiting for {what}"
        # Yield the CPU to the other processes.
        time.sleep(0.0001)


@dataclass(frozen=True)
class Rejection:
    """Notification of a publisher that a receiver has rejected its image."""

    registration_id: int
    stream_id: int
    error_code: int
    host: str
    destination_id: int
    reason: str


@dataclass(frozen=True)
class ImageFacts:
    """Parameters of an image, as its client shows them."""

    session_id: int
    correlation_id: int
    mtu: int
    initial_term_id: int
    join_position: int
    term_length: int
    position: int


@dataclass(frozen=True)
class CounterFacts:
    """A counter, as a client shows it."""

    counter_id: int
    type_id: int
    value: int
    owner_id: int
    registration_id: int


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

    def __init__(self, peer: JavaPeer, directory: Path) -> None:
        super().__init__(peer, peer.call("connect", directory))

    def publication(self, channel: str, stream_id: int = 1001, kind: str = "concurrent") -> JavaPublication:
        """Add a publication, `concurrent` or `exclusive`."""
        return JavaPublication(self.peer, self.call("publication", kind, channel, stream_id))

    def subscription(self, channel: str, stream_id: int = 1001) -> JavaSubscription:
        """Add a subscription."""
        return JavaSubscription(self.peer, self.call("subscription", channel, stream_id))

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


_OurPublications = aeron_core.Publication | aeron_core.ExclusivePublication


class OurPublication:
    """A publication of our client."""

    def __init__(
        self,
        publication: _OurPublications,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._publication = publication
        self._threads = threads
        self._destinations: dict[str, int] = {}
        self.session_id = publication.session_id
        self.registration_id = publication.registration_id
        self.close = publication.close

    @property
    def is_connected(self) -> bool:
        """Whether a subscriber is connected."""
        return self._publication.is_connected

    @property
    def position(self) -> int:
        """Position, in bytes."""
        return self._publication.position

    def await_connected(self) -> None:
        """Wait for a subscriber."""
        self._publication.await_connected(timeout=DEADLINE_S)

    def send(self, count: int) -> Future[str]:
        """Send that many messages."""
        return self._threads.submit(self._send, count)

    def _send(self, count: int) -> str:
        self.await_connected()
        for index in range(count):
            data = message(index)
            if self._publication.offer(data) < 0:
                await_true(lambda data=data: self._publication.offer(data) > 0, "back pressure")
        return str(count)

    def send_numbers(self, count: int) -> None:
        """Send numbers in messages of 700 bytes, one after the other."""
        self.await_connected()
        for number in range(count):
            data = number.to_bytes(8, "little").ljust(700, b".")
            await_true(lambda data=data: self._publication.offer(data) > 0, "back pressure")

    def offer(self, text: str) -> None:
        """Send one message."""
        self.await_connected()
        await_true(lambda: self._publication.offer(text.encode()) > 0, "back pressure")

    def add_destination(self, channel: str) -> None:
        """Add a destination."""
        self._publication.add_destination(channel)

    def remove_destination(self, channel: str) -> None:
        """Remove a destination."""
        self._publication.remove_destination(channel)

    def revoke(self) -> None:
        """Revoke an exclusive publication."""
        assert isinstance(self._publication, aeron_core.ExclusivePublication)
        self._publication.revoke()


class OurSubscription:
    """A subscription of our client."""

    def __init__(self, subscription: aeron_core.Subscription, threads: ThreadPoolExecutor) -> None:
        self._subscription = subscription
        self._threads = threads
        self.registration_id = subscription.registration_id
        self.add_destination = subscription.add_destination
        self.remove_destination = subscription.remove_destination
        self.close = subscription.close

    @property
    def images(self) -> list[ImageFacts]:
        """Its images."""
        return [
            ImageFacts(
                image.session_id,
                image.correlation_id,
                image.mtu_length,
                image.initial_term_id,
                image.join_position,
                image.term_length,
                image.position,
            )
            for image in self._subscription.images
        ]

    def await_images(self, count: int) -> list[ImageFacts]:
        """Wait for that many images and return them."""
        await_true(lambda: len(self._subscription.images) == count, f"{count} images")
        return self.images

    def receive(self, count: int) -> Future[str]:
        """Receive that many messages, assembled from fragments, and return their checksum."""
        return self._threads.submit(self._receive, count)

    def _receive(self, count: int) -> str:
        checksum = Checksum()
        received = 0

        def poll() -> bool:
            nonlocal received
            batch = self._subscription.poll_batch()
            for data in batch:
                checksum.add(bytes(data))
                received += 1
            return received >= count

        await_true(poll, f"message {count}")
        return checksum.hexdigest()

    def receive_one(self) -> tuple[int, str]:
        """Receive one message and return its session id and text."""
        received: list[tuple[int, str]] = []
        handler = aeron_core.FragmentAssembler(
            lambda buffer, header: received.append((header.session_id, bytes(buffer).decode()))
        )
        await_true(lambda: self._subscription.poll(handler, 1) and received, "a message")
        return received[0]

    def receive_until_gap(self, last: int) -> Future[str]:
        """Receive numbered messages until `last`; return the count, the last number, and whether they grew."""
        return self._threads.submit(self._receive_until_gap, last)

    def _receive_until_gap(self, last: int) -> str:
        numbers: list[int] = []

        def poll() -> bool:
            self._subscription.poll(
                lambda data, header: numbers.append(int.from_bytes(data[:8], "little")), 50
            )
            return bool(numbers) and numbers[-1] >= last

        await_true(poll, f"message {last}")
        return f"{len(numbers)} {numbers[-1]} {str(numbers == sorted(set(numbers))).lower()}"

    def respond(self, publication: OurPublication, count: int) -> Future[str]:
        """Send received messages on a publication."""
        return self._threads.submit(self._respond, publication, count)

    def _respond(self, publication: OurPublication, count: int) -> str:
        pending: deque[bytes] = deque()
        answered = 0
        handler = aeron_core.FragmentAssembler(lambda buffer, _: pending.append(bytes(buffer)))

        def step() -> bool:
            nonlocal answered
            self._subscription.poll(handler, 50)
            while pending and publication._publication.offer(pending[0]) > 0:
                pending.popleft()
                answered += 1
            return answered == count

        await_true(step, f"request {count}")
        return str(answered)

    def resolved_endpoint(self) -> str:
        """Wait for the address that the driver has chosen and return it."""
        await_true(lambda: self._subscription.resolved_endpoint() is not None, "the resolved endpoint")
        return str(self._subscription.resolved_endpoint())

    def reject(self, reason: str, index: int = 0) -> None:
        """Reject an image."""
        self._subscription.images[index].reject(reason)

    def await_end(self) -> Future[str]:
        """Wait for the end of the stream; return the final position and whether it was revoked."""
        return self._threads.submit(self._await_end, self._subscription.images[0])

    def _await_end(self, image: aeron_core.Image) -> str:
        def ended() -> bool:
            self._subscription.poll(lambda *_: None, 50)
            return image.is_end_of_stream or image.is_closed

        await_true(ended, "the end of the stream")
        return f"{image.position} {str(image.is_revoked).lower()}"


class OurClient:
    """Our client, in this process."""

    def __init__(self, directory: Path) -> None:
        self._rejections: queue.Queue[object] = queue.Queue()
        handlers = aeron_core.ClientHandlers(on_publication_error=self._rejections.put)
        self.aeron = aeron_core.connect(directory, handlers=handlers)
        self._threads = ThreadPoolExecutor(4)

    def publication(self, channel: str, stream_id: int = 1001, kind: str = "concurrent") -> OurPublication:
        """Add a publication, `concurrent` or `exclusive`."""
        add = self.aeron.add_exclusive_publication if kind == "exclusive" else self.aeron.add_publication
        return OurPublication(add(channel, stream_id), self._threads)

    def subscription(self, channel: str, stream_id: int = 1001) -> OurSubscription:
        """Add a subscription."""
        return OurSubscription(self.aeron.add_subscription(channel, stream_id), self._threads)

    def await_rejection(self) -> Rejection:
        """Wait for a rejection."""
        frame = self._rejections.get(timeout=DEADLINE_S)
        return Rejection(
            frame.registration_id,
            frame.stream_id,
            frame.error_code,
            frame.source[0],
            frame.destination_registration_id,
            frame.error_message,
        )

    def close(self) -> None:
        """Close the client."""
        self._threads.shutdown()
        self.aeron.close()


Publication = JavaPublication | OurPublication
Subscription = JavaSubscription | OurSubscription


def exchange(publication: Publication, *subscriptions: Subscription, count: int = 20_000) -> None:
    """Send messages; every subscription must receive all of them."""
    receiving = [subscription.receive(count) for subscription in subscriptions]
    assert publication.send(count).result(120) == str(count)
    expected = expected_checksum(count)
    assert [received.result(120) for received in receiving] == [expected] * len(receiving)
