"""Window builder: encodes the messages of the next part of the log as one window.

While memory is scarce, windows get shorter, and grow again with each that fits.

Not here: the encoding of messages (`message_encoder`) and windows (`window_encoder`), and sending
(`writer_connection`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_media.lumberjack._native import bounds, faults, sentinels
from aeron_media.lumberjack.writer.message_encoder import MessageEncoder

if TYPE_CHECKING:
    from aeron_media.connections.remote_host import RemoteHost
    from aeron_media.lumberjack.codec.window_encoder import WindowEncoder
    from aeron_media.lumberjack.writer.window_ledger import WindowLedger
    from aeron_media.lumberjack.writer.writer_params import WriterParams


class WindowBuilder:
    """Builds the windows of one connection in `encoder`; runs on the sender."""

    def __init__(
        self, params: WriterParams, encoder: WindowEncoder, host: RemoteHost, ledger: WindowLedger
    ) -> None:
        self._counters = params.counters
        self._ends = params.ends
        self._budget = params.budget
        self._encoder = encoder
        self._messages = MessageEncoder(encoder, params, host)
        self._host = host
        self._ledger = ledger
        self._window = params.window
        self._window_limit = params.window
        self.end = 0
        self.holds_memory = False
        self.next_ns = 0
        # State of `_is_hopeless`: the end position of the last event that lacked memory in a window of its own, the
        # attempts left before this event is skipped, and `failures` of the budget at the last attempt.
        self._alone_end = -1
        self._attempts_left = bounds.ALONE_ATTEMPTS
        self._failures = self._budget.failures

    def build(self, log: LogBuffer, now_ns: int) -> int:
        """Encode the next window and set `end` to its end position; return the number of its events.

        0, with `end` unchanged, if none was built: no complete message is in the log, all were skipped, or memory is
        exhausted.
        """
        begin = self._ledger.next_begin()
        limit = self._ledger.next_end()
        position = begin
        self.holds_memory = True
        while position < limit and (not self._encoder.is_open or self._encoder.count < self._window_limit):
            count = self._encoder.count
            step = self._messages.add(log, position)
            if step == sentinels.OUT_OF_MEMORY:
                return self._shrink(count + 1, position + self._messages.step, now_ns)
            if step <= 0:
                break
            position += step
        count = self._encoder.count if self._encoder.is_open else 0
        if count == 0:
            if position > begin:
                # Nothing to send in this part: usually padding.
                self._ledger.take(position, sentinels.DONE)
            return 0
        if self._encoder.finish() < 0:
            return self._shrink(count, position, now_ns)
        self._window_limit = min(self._window_limit * 2, self._window)
        self.end = position
        return count

    def _shrink(self, count: int, end: int, now_ns: int) -> int:
        """Shorten the next window after one of `count` events up to `end` ran out of memory; return 0.

        A single event is skipped if it exceeds the whole budget, or if no other connection holds memory in
        ALONE_ATTEMPTS successive attempts: waiting would not help. While earlier windows wait for the socket, or if
        the process has no memory, it is kept: both are short.
        """
        self._window_limit = max(count >> 1, 1)
        self.next_ns = now_ns + bounds.MEMORY_PAUSE_NS
        self._ends.keep(
            faults.BUDGET_SPENT,
            self._encoder.fault_value,
            self._encoder.fault_limit,
            0,
            self._host.address,
        )
        if self._encoder.ready == 0:
            self._encoder.reset()
            is_too_long = end - self._ledger.next_begin() > self._budget.limit
            if count == 1 and (is_too_long or self._is_hopeless(end)):
                self._ledger.take(end, sentinels.DONE)
                self._counters.passed_over.increment_release()
                self.next_ns = now_ns
        return 0

    def _is_hopeless(self, end: int) -> bool:
        if self._failures != self._budget.failures or self._budget.used != 0 or end != self._alone_end:
            # This is the first attempt for this event, or waiting can help: the process had no memory, or another
            # connection holds some. A connection that has released its memory since the attempt is not detected; only
            # several attempts in succession exclude that.
            self._attempts_left = bounds.ALONE_ATTEMPTS
        self._failures = self._budget.failures
        self._alone_end = end
        if self._budget.used == 0:
            self._attempts_left -= 1
        return self._attempts_left <= 0

    def release_memory(self) -> int:
        """Drop the windows of the encoder and free their memory; return 0."""
        self.holds_memory = False
        self._encoder.reset()
        return 0
