"""Probes that call the C methods of the driver's parts, as its sender and receiver do.

For tests of this project: the parts of the driver may change in any version.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import pointers
from aeron_core._native.datagrams import SendBatch
from aeron_core.driver.agents.polled_endpoints import PolledEndpoints
from aeron_core.driver.receiver.loss_detector import LossDetector
from aeron_core.driver.receiver.nak_delay import NakDelay
from aeron_core.driver.sender.datagram_run import DatagramRun
from aeron_core.driver.sender.publisher_limit import PublisherLimit
from aeron_core.driver.sender.retransmit_handler import Resender, RetransmitHandler
from aeron_core.spi.endpoints import ChannelEndpoint, ReceiveChannelEndpoint, SendChannelEndpoint
from aeron_core.spi.flow_control import FlowControl


class RecordingResender(Resender):
    """A stream that records the requested retransmits in `calls`, as (term id, term offset, length in bytes)."""

    calls: list[tuple[int, int, int]]

    def __init__(self) -> None:
        self.calls = []

    def resend(self, term_id: int, term_offset: int, length: int) -> int:
        """See `Resender.resend`."""
        with cython.gil:
            return self._record(term_id, term_offset, length)

    def _record(self, term_id: int, term_offset: int, length: int) -> int:
        self.calls.append((term_id, term_offset, length))
        return length


class RetransmitProbe:
    """Probe of a retransmit handler, called as a publication calls it."""

    resender: RecordingResender

    def __init__(self, handler: RetransmitHandler, flow_control: FlowControl) -> None:
        self.resender = RecordingResender()
        self._handler = handler
        self._flow_control = flow_control

    def on_nak(self, term_id: int, term_offset: int, length: int, term_length: int, now_ns: int) -> int:
        """See `RetransmitHandler.on_nak`."""
        return self._handler.on_nak(
            self.resender, self._flow_control, term_id, term_offset, length, term_length, now_ns
        )

    def process_timeouts(self, now_ns: int) -> int:
        """See `RetransmitHandler.process_timeouts`."""
        return self._handler.process_timeouts(self.resender, now_ns)


class LossDetectorProbe:
    """Probe of a loss detector, called as an image calls it."""

    detector: LossDetector

    def __init__(self, detector: LossDetector) -> None:
        self.detector = detector

    def scan(self, rebuild_position: int, hwm_position: int, now_ns: int) -> int:
        """See `LossDetector.scan`."""
        return self.detector.scan(rebuild_position, hwm_position, now_ns)


class NakDelayProbe:
    """Probe of a NAK delay, called as a loss detector calls it."""

    def __init__(self, delay: NakDelay) -> None:
        self._delay = delay

    def delay_ns(self, *, is_retry: bool) -> int:
        """See `NakDelay.delay_ns`."""
        return self._delay.delay_ns(is_retry)


class PublisherLimitProbe:
    """Probe of a publisher limit, called as a publication calls it."""

    def __init__(self, limit: PublisherLimit) -> None:
        self._limit = limit

    def get(self) -> int:
        """See `PublisherLimit.get`."""
        return self._limit.get()

    def advance(self, consumer_position: int) -> int:
        """See `PublisherLimit.advance`."""
        return self._limit.advance(consumer_position)

    def lower_to(self, position: int) -> int:
        """See `PublisherLimit.lower_to`."""
        return self._limit.lower_to(position)


class Collected(NamedTuple):
    """Result of one call: its length in the stream in bytes, and the datagrams of each entry of the batch."""

    length: int
    entries: list[list[bytes]]


class DatagramRunProbe:
    """Probe of a datagram run, called as a publication calls it."""

    run: DatagramRun

    def __init__(self, run: DatagramRun) -> None:
        self.run = run
        self._batch = SendBatch()

    def collect(self, position: int, window: int, max_entries: int) -> Collected:
        """Return the result of `DatagramRun.collect`, in bytes, and the datagrams of the batch that it filled."""
        length = self.run.collect(self._batch, position, window, max_entries)
        return Collected(length, [self._batch.datagrams(index) for index in range(self._batch.count)])


class CountingSendEndpoint(SendChannelEndpoint):
    """A send endpoint with a given descriptor that counts its polls."""

    polls: int
    is_broken: bool  # whether a poll raises

    def __init__(self, descriptor: int) -> None:
        self.polls = 0
        self.is_broken = False
        self._descriptor = descriptor

    def descriptor(self) -> int:
        """Return the given descriptor."""
        return self._descriptor

    def poll(self, now_ns: int) -> int:
        """Count the call and return 1; raise RuntimeError if `is_broken`."""
        self.polls += 1
        if self.is_broken:
            return _raise_broken()
        return 1


class CountingReceiveEndpoint(ReceiveChannelEndpoint):
    """A receive endpoint with a given descriptor that counts its polls."""

    polls: int
    is_broken: bool  # whether a poll raises

    def __init__(self, descriptor: int) -> None:
        self.polls = 0
        self.is_broken = False
        self._descriptor = descriptor

    def descriptor(self) -> int:
        """Return the given descriptor."""
        return self._descriptor

    def poll(self, now_ns: int) -> int:
        """Count the call and return 1; raise RuntimeError if `is_broken`."""
        self.polls += 1
        if self.is_broken:
            return _raise_broken()
        return 1


def _raise_broken() -> int:
    raise RuntimeError("this endpoint raises at each poll, as its test requires: is_broken is set")


class PolledEndpointsProbe:
    """Probe of a list of endpoints, called as the sender and the receiver call it."""

    def __init__(self, endpoints: PolledEndpoints) -> None:
        self._endpoints = endpoints

    def append(self, endpoint: ChannelEndpoint) -> int:
        """See `PolledEndpoints.append`; the caller keeps the endpoint alive."""
        return self._endpoints.append(cython.cast(cython.pointer(PyObject), endpoint))

    def remove(self, endpoint: ChannelEndpoint) -> int:
        """See `PolledEndpoints.remove`."""
        return self._endpoints.remove(cython.cast(cython.pointer(PyObject), endpoint))

    def poll(self, now_ns: int = 0) -> int:
        """See `PolledEndpoints.poll`."""
        return self._endpoints.poll(now_ns)


class QuietItem:
    """An item for a `QuietList`, with the tails of a log."""

    index: int

    def __init__(self) -> None:
        self.index = -1

    def append(self) -> None:
        """Move a tail, as a client does that appends to the log."""
        self._tails[1] += 1  # type: ignore[attr-defined]


class QuietListProbe:
    """Probe of a list of quiet streams, called as the sender and the receiver call it."""

    quiet: pointers.QuietList
    WHEN_LOOKING = pointers.WHEN_LOOKING
    ALWAYS = pointers.ALWAYS
    RESTLESS = pointers.RESTLESS

    def __init__(self) -> None:
        self.quiet = pointers.QuietList()

    def add(self, item: QuietItem, deadline_ns: int, attention: int, *, has_log: bool) -> None:
        """See `QuietList.add`; the caller keeps the item alive. Without a log it has no tails."""
        self._add(item, deadline_ns, attention, has_log)

    def _add(self, item: QuietItem, deadline_ns: int, attention: int, has_log: bool) -> int:
        return self.quiet.add(
            cython.cast(cython.pointer(PyObject), item),
            cython.address(item.index),
            deadline_ns,
            item._tails if has_log else cython.NULL,  # type: ignore[attr-defined]  # declared in C
            pointers.sum_of_tails(item._tails),  # type: ignore[attr-defined]  # declared in C
            attention,
        )

    def remove(self, item: QuietItem) -> None:
        """See `QuietList.remove`."""
        self.quiet.remove(item.index)

    def begin(self, count: int, *, is_looking: bool) -> None:
        """See `QuietList.begin`."""
        self.quiet.begin(count, is_looking)

    def take(self, now_ns: int) -> QuietItem | None:
        """Return the next item of the turn, None at its end. The caller removes it."""
        found = self.quiet.take(now_ns)
        return None if found == cython.NULL else cython.cast(QuietItem, found)
