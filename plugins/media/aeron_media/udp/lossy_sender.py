"""Lossy sender: sends batches of datagrams with deliberate loss, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.datagrams import DatagramChannel, SendBatch
from aeron_media.udp.loss import LossGenerator

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.spi.media import LossRates


class LossySender:
    """Sender that drops datagrams at random; each segment of an entry is a datagram. Used by the sender thread."""

    def __init__(self, channel: DatagramChannel, rates: LossRates) -> None:
        self._channel = channel
        self._loss = LossGenerator(rates)
        self._survivors = SendBatch()

    def send(self, batch: SendBatch, remote: SocketAddress) -> int:
        """Send `batch`; return how many of its entries were sent completely. Lost datagrams count as sent."""
        for index in range(batch.count):
            if not self._send_entry(batch, index, remote):
                return index
        return batch.count

    def _send_entry(self, batch: SendBatch, index: int, remote: SocketAddress) -> bool:
        self._survivors.clear()
        offset = 0
        length = batch.length_of(index)
        while offset < length:
            step = min(batch.segment_length_of(index), length - offset)
            if not self._loss.should_drop():
                if self._survivors.is_full() and not self._flush(remote):
                    return False
                self._survivors.add_part(batch, index, offset, step)
            offset += step
        return self._flush(remote)

    def _flush(self, remote: SocketAddress) -> bool:
        sent = self._channel.send(self._survivors, remote)
        is_done = sent == self._survivors.count
        self._survivors.clear()
        return is_done
