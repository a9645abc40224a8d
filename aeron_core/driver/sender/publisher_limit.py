"""Publisher limit of a log, and the cleaning that must precede it.

A log has three term buffers, which are used in rotation. Before the limit lets publishers into a buffer, its old
content is set to zero: a reader takes a frame length of zero for "not written yet". The cleaning stays a term behind
the slowest consumer and does at most one term per step.
Source: aeron_network_publication.c, aeron_network_publication_update_pub_pos_and_lmt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.logbuffer.cleaner import clean_step

if TYPE_CHECKING:
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.logbuffer.descriptor import LogBuffer


class PublisherLimit:
    """The publisher limit of one log, and its cleaning; used by the sender only."""

    def __init__(self, log: LogBuffer, counter: AtomicCounter, window_length: int, position: int) -> None:
        self._log = log
        self._counter = counter
        self._window_length = window_length
        self._clean_position = position

    def get(self) -> int:
        """Return the limit, a stream position."""
        return self._counter.get()

    def advance(self, consumer_position: int) -> int:
        """Clean the log, and move the limit to a window beyond the consumer; return 1 if either changed, else 0.

        The limit is not lowered, and stays until the buffer of its new term is clean.
        """
        limit = consumer_position + self._window_length
        if limit <= self._counter.get():
            return 0
        # Clean first, then publish the limit: it lets publishers into the cleaned buffer.
        self._clean_position = clean_step(
            self._log, self._clean_position, consumer_position - self._log.term_length
        )
        # If the buffer of the limit is not clean yet, the limit stays: the next call cleans the next term.
        if self._is_clean_for(limit):
            self._counter.set_release(limit)
        return 1

    def lower_to(self, position: int) -> int:
        """Lower the limit to `position` while there is no consumer; return 1 if it changed, else 0."""
        if self._counter.get() <= position:
            return 0
        # Nothing is consumed: publishers must not fill the log.
        self._counter.set_release(position)
        self._clean_position = clean_step(self._log, self._clean_position, position - self._log.term_length)
        return 1

    def _is_clean_for(self, limit: int) -> bool:
        # The buffer of the limit's term must not hold old data. A term uses the buffer of the term three before it, so
        # the buffer is clean if the limit is at most two terms ahead of the cleaning. As in the reference, a gap of two
        # is accepted only after the cleaning of its term has begun.
        gap = (limit >> self._log.position_bits_to_shift) - (
            self._clean_position >> self._log.position_bits_to_shift
        )
        return gap < 2 or (gap == 2 and (self._clean_position & self._log.term_length_mask) != 0)
