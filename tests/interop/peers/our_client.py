"""Our client behind the methods of `java_client`, so that a test can exchange their roles."""

from __future__ import annotations

import queue
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from messages import Checksum, message
from party_facts import DEADLINE_S, ImageFacts, Rejection, await_true

import aeron_core

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

    def receive_timestamps(self) -> list[int]:
        """Receive one frame and return its reserved value and the first two numbers of its payload."""
        received: list[int] = []

        def handler(buffer: memoryview, header: aeron_core.Header) -> None:
            numbers = (int.from_bytes(buffer[at : at + 8], "little") for at in (0, 8))
            received.extend((header.reserved_value, *numbers))

        await_true(lambda: self._subscription.poll(handler, 1), "a frame")
        return received

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
