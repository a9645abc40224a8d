"""Conformance tests of flow control: the properties that a publication relies on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import count
from random import Random
from typing import Final

from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.spi.flow_control import (
    FlowControl,
    FlowControlParams,
    FlowControlStrategy,
    adapt_flow_control,
)
from aeron_core.testing.probes import FlowControlProbe

_WINDOW: Final = 128 * 1024
_MS: Final = 1_000_000
# A stream position in bytes that needs 63 bits, so that a strategy that computes with 32 bits fails.
_FAR: Final = 1 << 62
_STEPS: Final = 500
_REMEDY: Final = "override status_message if the strategy counts only some receivers"


class FlowControlConformance(ABC):
    """Suite for a flow control: subclass as `Test…` and override `make`.

    Override `params` too if the strategy requires other values, and `status_message` if it counts only some receivers.
    """

    #: Argument of `make`.
    params = FlowControlParams(
        channel="aeron:udp?endpoint=224.20.30.39:24326",
        stream_id=1001,
        session_id=7,
        registration_id=1,
        initial_term_id=0,
        term_length=65536,
        mtu=1408,
        is_multicast=True,
    )

    @abstractmethod
    def make(self, params: FlowControlParams) -> FlowControl | FlowControlStrategy:
        """Return a new strategy."""

    def status_message(self, receiver_id: int = 1, window: int = _WINDOW) -> StatusMessage:
        """Return a status message that the strategy counts, with a window in bytes.

        Override it if your strategy counts only some receivers, for example those with a group tag.
        """
        return StatusMessage(session_id=7, stream_id=1001, receiver_id=receiver_id, receiver_window=window)

    def test_a_status_message_never_lowers_the_limit(self) -> None:
        """A sender may have sent up to the limit already."""
        probe = self._probe()
        limit = 0
        for position, sm, now_ns in self._traffic():
            new = probe.on_status_message(sm, position, limit, now_ns)
            assert new >= limit, f"limit {limit} became {new} at position {position}"
            limit = new

    def test_a_receiver_that_makes_progress_advances_the_limit(self) -> None:
        """Otherwise the stream stalls."""
        probe = self._probe()
        limit = 0
        for step in range(_STEPS):
            position = step * _WINDOW // 2
            limit = probe.on_status_message(self.status_message(), position, limit, step * _MS)
            limit = probe.on_idle(limit, position, False, step * _MS)
            assert limit > position, f"limit {limit} at position {position} of the only receiver: {_REMEDY}"

    def test_a_receiver_without_a_window_does_not_advance_the_limit(self) -> None:
        """A window of 0 means that the receiver has no space."""
        probe = self._probe()
        limit = probe.on_status_message(self.status_message(window=0), 4096, 4096, 0)
        assert limit == 4096, f"limit {limit} for a window of 0 at position 4096"

    def test_positions_beyond_32_bits_work(self) -> None:
        """A limit that overflows is negative, and stops the stream."""
        probe = self._probe()
        limit = probe.on_status_message(self.status_message(), _FAR, _FAR, 0)
        assert limit > _FAR, f"limit {limit} for a receiver at {_FAR}: {_REMEDY}"
        assert probe.on_idle(limit, _FAR, False, _MS) > 0

    def test_setup_frames_do_not_lower_the_limit(self) -> None:
        """A receiver that joins late requests a SETUP when the limit has already advanced."""
        probe = self._probe()
        assert probe.on_setup(Setup(), 4096, 0) >= 4096
        probe.on_setup_elicited(self.status_message(), 0)
        assert probe.on_setup(Setup(), 8192, 1) >= 8192

    def test_the_limit_does_not_change_without_a_receiver(self) -> None:
        """No receiver has opened a window."""
        probe = self._probe()
        assert [probe.on_idle(4096, 0, False, step * _MS) for step in range(10)] == [4096] * 10

    def test_unknown_receivers_may_send_error_frames(self) -> None:
        """Any host can send an error frame."""
        probe = self._probe()
        probe.on_error(ErrorFrame(session_id=7, stream_id=1001, receiver_id=99, error_code=13), 0)
        limit = probe.on_status_message(self.status_message(), 0, 0, 1)
        assert limit > 0, f"limit {limit} for the only other receiver, at position 0: {_REMEDY}"

    def test_receivers_may_time_out(self) -> None:
        """After an hour without status messages, also at the end of the stream, the limit is not lower."""
        probe = self._probe()
        limit = 0
        for receiver_id in range(10):
            limit = probe.on_status_message(self.status_message(receiver_id), 0, limit, receiver_id)
        hour_ns = 3_600_000_000_000
        for now_ns, is_end in ((hour_ns, False), (hour_ns + 1, True)):
            assert probe.on_idle(limit, limit, is_end, now_ns) >= limit
            probe.has_required_receivers(now_ns)

    def test_frames_are_not_kept(self) -> None:
        """The driver reuses one frame object: a strategy that keeps it sees the next values."""
        shared = StatusMessage()

        def reused() -> Iterator[tuple[int, StatusMessage, int]]:
            for position, sm, now_ns in self._traffic():
                for name, value in sm.fields().items():
                    setattr(shared, name, value)
                yield position, shared, now_ns

        assert self._limits(reused()) == self._limits(self._traffic()), "the strategy keeps the frame itself"

    def test_equal_calls_have_equal_results(self) -> None:
        """Time is an argument: a strategy with its own clock or random numbers cannot be simulated."""
        assert self._limits(self._traffic()) == self._limits(self._traffic())

    def test_retransmits_are_possible(self) -> None:
        """A multiple of 0 windows would prevent every retransmit."""
        assert self._probe().strategy.retransmit_window_multiple >= 1

    def _probe(self) -> FlowControlProbe:
        return FlowControlProbe(adapt_flow_control(self.make(self.params), _raise))

    def _traffic(self) -> Iterator[tuple[int, StatusMessage, int]]:
        """Yield status messages of three receivers in random order: (position in bytes, message, time in ns)."""
        random = Random(1)
        positions = dict.fromkeys((1, 2, 3), 0)
        for step in range(_STEPS):
            receiver_id = random.choice(tuple(positions))
            positions[receiver_id] += random.randrange(_WINDOW)
            window = random.choice((0, 1408, _WINDOW))
            yield positions[receiver_id], self.status_message(receiver_id, window), step * _MS

    def _limits(self, traffic: Iterable[tuple[int, StatusMessage, int]]) -> list[int]:
        probe = self._probe()
        limit = 0
        limits = []
        for number, (position, sm, now_ns) in zip(count(), traffic, strict=False):
            limit = probe.on_status_message(sm, position, limit, now_ns)
            if number % 10 == 0:
                limit = probe.on_idle(limit, position, False, now_ns)
            limits.append(limit)
        return limits


def _raise(error: BaseException) -> None:
    raise AssertionError(
        f"the strategy raised {error!r}: none of its methods may raise an exception"
    ) from error
