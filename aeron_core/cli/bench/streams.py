"""Measurements of streams between this process and a peer: throughput in batches, and round trips.

Invariant: a rate counts what the other end has received, until it has received everything.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final

import numpy as np

from aeron_core._native import wire
from aeron_core.cli.bench.peer import END_LENGTH
from aeron_core.cli.bench.peer_process import PeerProcess
from aeron_core.cli.messages.latency import Latencies
from aeron_core.cli.text_table import counted
from aeron_core.client.subscriptions.header import Header
from aeron_core.errors import ClientError, NotConnectedError

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.subscriptions.subscription import Subscription

PING_LENGTH: Final = 32
_BATCH_LENGTH: Final = 128 * 1024
_CONNECT_TIMEOUT_S: Final = 10.0
_STREAMS: Final = {"sink": 1001, "ping": 1002, "pong": 1003}
#: Messages of one burst of an echo that have not returned yet. Invented: more than a round trip, less than a window.
_OUTSTANDING: Final = 256
_RETRIED: Final = (wire.RESULT_BACK_PRESSURED, wire.RESULT_ADMIN_ACTION)


class EchoStream:
    """Pings on a publication, which the other end returns on a subscription."""

    def __init__(
        self,
        publication: ExclusivePublication,
        subscription: Subscription,
        timeout: float = _CONNECT_TIMEOUT_S,
    ) -> None:
        self._publication = publication
        self._subscription = subscription
        self._timeout = timeout
        self._received_ns = 0
        self._message = bytearray(PING_LENGTH)

    def await_connected(self) -> None:
        """Wait until the other end is connected; raise NotConnectedError after the timeout."""
        self._publication.await_connected(self._timeout)
        self._subscription.await_connected(self._timeout)

    def round_trips(self, seconds: float) -> Latencies:
        """Return the latencies of round trips, one at a time, of at least one."""
        latencies = Latencies()
        deadline_s = time.monotonic() + seconds
        while time.monotonic() < deadline_s or not latencies.count:
            sent_ns = time.monotonic_ns()
            self._message[:8] = sent_ns.to_bytes(8, "little")
            self._received_ns = 0
            self._publication.send(self._message, timeout=self._timeout)
            while not self._received_ns:
                if not self._subscription.poll(self._on_fragment):
                    self._pause(sent_ns)
            latencies.add(self._received_ns - sent_ns)
        return latencies

    def echoes_per_s(self, seconds: float, size: int) -> float:
        """Return the messages of `size` bytes per second that the other end returns."""
        data = bytes(size * _OUTSTANDING)
        offsets = np.arange(0, len(data) + 1, size, dtype=np.int64)
        start_s = time.perf_counter()
        sent = received = 0
        last_ns = time.monotonic_ns()
        while time.perf_counter() - start_s < seconds or received < sent:
            count = _OUTSTANDING - (sent - received) if time.perf_counter() - start_s < seconds else 0
            if count > 0:
                sent += _accepted(self._publication.offer_batch(data, offsets, count=count))
            batch = self._subscription.poll_batch()
            # Answers to other programs that share a pong do not count.
            own = int((np.diff(batch.offsets) == size).sum())
            received += own
            if own:
                last_ns = time.monotonic_ns()
            else:
                self._pause(last_ns)
        return received / (time.perf_counter() - start_s)

    def end(self) -> None:
        """End the measurement at the second process of the benchmark."""
        self._publication.send(bytes(END_LENGTH), timeout=self._timeout)

    def _on_fragment(self, buffer: memoryview, _header: Header) -> None:
        # Answers to other programs that share a pong are ignored.
        if buffer == self._message:
            self._received_ns = time.monotonic_ns()

    def _pause(self, since_ns: int) -> None:
        # With fewer processors than spinning threads, let the other threads run now.
        os.sched_yield()
        if time.monotonic_ns() - since_ns > self._timeout * 1e9:
            raise NotConnectedError(
                f"a message did not return within {self._timeout:g} s: check that `aeron-core pong` runs, and the "
                "addresses of both channels"
            )


class LocalStreams:
    """Streams of one medium from this process to the second process of the benchmark, and back."""

    def __init__(self, name: str, aeron: Aeron, peer: PeerProcess, stack: ExitStack) -> None:
        """Add the streams and connect them; `name` is that of the peer's client, which is `ipc` or `udp`."""
        self._name = name
        self._peer = peer
        channel = "aeron:ipc" if name == "ipc" else "aeron:udp?endpoint=127.0.0.1:0"
        self._sink = self._publish(aeron, "sink", channel, stack)
        ping = self._publish(aeron, "ping", channel, stack)
        pong = stack.enter_context(aeron.add_subscription(channel, _STREAMS["pong"]))
        answers = pong.resolved_channel() or channel
        peer.ask("publish", client=name, name=f"{name}-ping", channel=answers, stream=_STREAMS["pong"])
        self._echo = EchoStream(ping, pong)
        self._sink.await_connected(_CONNECT_TIMEOUT_S)
        self._echo.await_connected()

    def _publish(self, aeron: Aeron, role: str, channel: str, stack: ExitStack) -> ExclusivePublication:
        stream_id = _STREAMS[role]
        name = f"{self._name}-{role}"
        bound = self._peer.ask("subscribe", client=self._name, name=name, channel=channel, stream=stream_id)
        return stack.enter_context(closing(aeron.add_exclusive_publication(bound["channel"], stream_id)))

    def messages_per_s(self, seconds: float, size: int) -> float:
        """Return the messages of `size` bytes per second that the peer has received, sent in batches."""
        number = max(_BATCH_LENGTH // size, 1)
        data, offsets = bytes(size * number), np.arange(0, size * number + 1, size, dtype=np.int64)
        self._peer.send("count", name=f"{self._name}-sink", seconds=seconds)
        start_s = time.perf_counter()
        first = sent = 0
        while time.perf_counter() - start_s < seconds:
            accepted = _accepted(self._sink.offer_batch(data, offsets, first=first))
            sent += accepted
            first = (first + accepted) % number
            if not accepted:
                os.sched_yield()
        self._sink.send(bytes(END_LENGTH), timeout=_CONNECT_TIMEOUT_S)
        received = int(self._peer.answer()["messages"])
        if received != sent:
            raise ClientError(
                f"{received} of {counted(sent, 'message')} of {self._name} arrived: run the benchmark again"
            )
        return received / (time.perf_counter() - start_s)

    def round_trips(self, seconds: float) -> Latencies:
        """Return the latencies of round trips to the peer."""
        self._peer.send("echo", name=f"{self._name}-ping", seconds=seconds)
        latencies = self._echo.round_trips(seconds)
        self._echo.end()
        self._peer.answer()
        return latencies


def _accepted(result: int) -> int:
    """Return how many messages a batch has appended; raise ClientError if the stream cannot go on."""
    if result >= 0:
        return result
    if result in _RETRIED:
        return 0
    raise ClientError(
        f"a stream of the benchmark ended ({result!r}): its driver or peer has closed; run it again"
    )
