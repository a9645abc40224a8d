"""Lossy sender: sends batches of datagrams with deliberate loss, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cython.cimports.aeron_media._native.destination_table import cut_entry

from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.datagrams import BATCH_CAPACITY, DatagramChannel, SendBatch
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
        self._offsets = AtomicBuffer.allocate(4 * BATCH_CAPACITY)

    def send(self, batch: SendBatch, remote: SocketAddress) -> int:
        """Send `batch`; return how many of its entries were sent. Lost datagrams count as sent.

        As with `DatagramChannel.send`, the last of these entries may have been sent in part, and has a reduced length
        then.
        """
        for index in range(batch.count):
            sent = self._send_entry(batch, index, remote)
            if sent < batch.length_of(index):
                if sent == 0:
                    return index
                cut_entry(batch, index, sent)
                return index + 1
        return batch.count

    def _send_entry(self, batch: SendBatch, index: int, remote: SocketAddress) -> int:
        """Send the datagrams of an entry; return the bytes before the first one that the channel did not accept."""
        self._survivors.clear()
        offset = 0
        length = batch.length_of(index)
        while offset < length:
            step = min(batch.segment_length_of(index), length - offset)
            if not self._loss.should_drop():
                if self._survivors.is_full():
                    sent = self._flush(offset, remote)
                    if sent < offset:
                        return sent
                self._offsets.put_i32(4 * self._survivors.count, offset)
                self._survivors.add_part(batch, index, offset, step)
            offset += step
        return self._flush(length, remote)

    def _flush(self, end: int, remote: SocketAddress) -> int:
        """Send the survivors; return the offset of the first one that was not accepted, `end` if all were."""
        count = self._survivors.count
        sent = self._channel.send(self._survivors, remote)
        self._survivors.clear()
        return end if sent == count else self._offsets.get_i32(4 * sent)
