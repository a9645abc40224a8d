"""Datagram channel that reports its traffic to the event log; takes the GIL for each call with datagrams."""

from __future__ import annotations

from collections.abc import Callable

import cython

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import DatagramChannel, ReceiveBatch, SendBatch


class LoggedDatagrams(DatagramChannel):
    """Channel that forwards all calls to `channel`; callbacks get each datagram and its peer, on the agent's thread."""

    def __init__(
        self,
        channel: DatagramChannel,
        on_received: Callable[[bytes, SocketAddress], None],
        on_sent: Callable[[bytes, SocketAddress], None],
    ) -> None:
        self._channel = channel
        self._on_received = on_received
        self._on_sent = on_sent

    def receive(self, batch: ReceiveBatch) -> int:
        """Receive into `batch`, and report each datagram; return the number of entries."""
        # Called without the GIL: an idle poll must not compete with Python threads for it.
        count = self._channel.receive(batch)
        self._take_error()
        if count > 0:
            with cython.gil:
                self._report_received(batch, count)
        return count

    def send(self, batch: SendBatch, destination: SocketAddress) -> int:
        """Send the entries of `batch`, and report the datagrams that the socket accepted; return how many entries."""
        taken = self._channel.send(batch, destination)
        self._take_error()
        if taken > 0:
            with cython.gil:
                self._report_sent(batch, taken, destination)
        return taken

    def descriptor(self) -> int:
        """Return the file descriptor of the wrapped channel, or `wire.NO_DESCRIPTOR`."""
        return self._channel.descriptor()

    def _take_error(self) -> int:
        # The agent reads errors from this channel only, so the error is moved here from the wrapped one.
        self.error_code = self._channel.error_code
        self._channel.error_code = 0
        return 0

    def _report_received(self, batch: ReceiveBatch, count: int) -> int:
        for index in range(count):
            source = SocketAddress()
            batch.copy_source(index, source)
            length = batch.length_of(index)
            data = batch.buffer.get_bytes(batch.offset_of(index), length)
            # With GRO one entry may hold several datagrams of equal length; only the last may be shorter.
            # `max`, because `range` refuses a step of 0.
            step = max(batch.segment_length_of(index), 1)
            for start in range(0, length, step):
                self._on_received(data[start : start + step], source)
        return 0

    def _report_sent(self, batch: SendBatch, taken: int, destination: SocketAddress) -> int:
        to = destination.copy()
        for index in range(taken):
            # With GSO one entry may be sent as several datagrams.
            for datagram in batch.datagrams(index):
                self._on_sent(datagram, to)
        return 0

    def local_address(self) -> SocketAddress:
        """See `DatagramChannel.local_address`."""
        return self._channel.local_address()

    def connect(self, address: SocketAddress) -> None:
        """See `DatagramChannel.connect`."""
        self._channel.connect(address)

    def close(self) -> None:
        """See `DatagramChannel.close`."""
        self._channel.close()
