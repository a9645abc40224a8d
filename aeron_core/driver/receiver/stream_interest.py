"""Subscriptions of one stream id on one endpoint, and its sessions: those with an image and those without.

Used by the receiver only. The states of sessions without an image are those of the table in `dispatcher`.
Invariant: a new session is remembered only while there are fewer than MAX_TRACKED_SESSIONS without an image,
so that forged session ids cannot exhaust memory, at most MAX_COOL_DOWNS of them in COOL_DOWN; frames cause a scan of
all of them at most once in STALE_SESSIONS_INTERVAL_NS.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.pointers import LongMap, PointerMap
from aeron_core.driver._native import operations
from aeron_core.driver.receiver.awaited_images import AwaitedImages


def has_deadline(state: int) -> bool:
    """Return whether a session's state expires: PENDING_SETUP or REFUSED."""
    kind = state & operations.SESSION_STATE_MASK
    return kind in (operations.SESSION_PENDING_SETUP, operations.SESSION_REFUSED)


def is_expired(state: int, now_ns: int) -> bool:
    """Return whether a session's state has a deadline, and `now_ns` is after it."""
    # The deadline is in the upper bits; shifting removes the state.
    return has_deadline(state) and now_ns > state >> operations.SESSION_STATE_BITS


class StreamInterest:
    """The subscribed sessions of one stream id on one endpoint: all, or a set of them."""

    def __init__(self, stream_id: int, awaited: AwaitedImages) -> None:
        self.stream_id = stream_id
        self._awaited = awaited
        self._is_all_sessions = False
        self._sessions = LongMap()
        self._states = LongMap()
        self._images = PointerMap()
        self._in_progress = 0
        self._cool_downs = 0
        self._stale_from_ns = 0

    def wants(self, session_id: int) -> bool:
        """Return whether there is a subscription to the session."""
        return self._is_all_sessions or self._sessions.get(session_id, 0) != 0

    def has_capacity(self, now_ns: int) -> bool:
        """Return whether one more session can be remembered, after forgetting stale ones if a scan is due."""
        if self._states.size >= operations.MAX_TRACKED_SESSIONS and now_ns > self._stale_from_ns:
            self.forget_stale(now_ns)
        return self._states.size < operations.MAX_TRACKED_SESSIONS

    def forget_stale(self, now_ns: int) -> int:
        """Forget sessions in NO_INTEREST and sessions whose state has expired; return 0."""
        earliest_ns = now_ns + wire.PENDING_SETUP_TIMEOUT_NS
        for slot in range(self._states.capacity):
            # Removing may move another entry into the slot, so check the slot again.
            while self._states.is_used(slot) and self._stale_from(slot, now_ns) < now_ns:
                self._states.remove(self._states.key_at(slot))
            if self._states.is_used(slot):
                earliest_ns = min(earliest_ns, self._stale_from(slot, now_ns))
        # At least an interval ahead: a flood of forged session ids must not cause a scan for each frame.
        self._stale_from_ns = max(earliest_ns, now_ns + operations.STALE_SESSIONS_INTERVAL_NS)
        return 0

    def _stale_from(self, slot: int, now_ns: int) -> int:
        state = self._states.value_at(slot)
        # NO_INTEREST only saves the search for a subscription: it can be dropped at any time.
        if state == operations.SESSION_NO_INTEREST:
            return -1
        if has_deadline(state):
            return state >> operations.SESSION_STATE_BITS
        # The state has no deadline, and a deadline of the state that follows it is not earlier than this.
        return now_ns + wire.PENDING_SETUP_TIMEOUT_NS

    def set_no_interest(self, session_id: int, now_ns: int) -> int:
        """Remember that there is no subscription to the session; return 0."""
        self._stale_from_ns = min(self._stale_from_ns, now_ns + operations.STALE_SESSIONS_INTERVAL_NS)
        self._states.put(session_id, operations.SESSION_NO_INTEREST)
        return 0

    def set_until(self, session_id: int, state: int, now_ns: int) -> int:
        """Set a state that expires after PENDING_SETUP_TIMEOUT_NS, PENDING_SETUP or REFUSED; return 0."""
        deadline_ns = now_ns + wire.PENDING_SETUP_TIMEOUT_NS
        self._stale_from_ns = min(self._stale_from_ns, deadline_ns)
        self._states.put(session_id, state | deadline_ns << operations.SESSION_STATE_BITS)
        return 0

    def expire_pending_soon(self, session_id: int, now_ns: int) -> int:
        """Let a PENDING_SETUP of the session expire after SETUP_INTERVAL_NS; ignore any other state. Return 0.

        Then its next data requests a SETUP again: a sender with receivers sends one SETUP for each request, and data
        requests none in that state.
        """
        state = self._states.get(session_id, operations.SESSION_UNKNOWN)
        if (state & operations.SESSION_STATE_MASK) == operations.SESSION_PENDING_SETUP:
            deadline_ns = now_ns + wire.SETUP_INTERVAL_NS
            self._stale_from_ns = min(self._stale_from_ns, deadline_ns)
            self._states.put(
                session_id, operations.SESSION_PENDING_SETUP | deadline_ns << operations.SESSION_STATE_BITS
            )
        return 0

    def set_in_progress(self, session_id: int, permit: int) -> int:
        """Set the state of a session while the conductor creates its image, which holds `permit`; return 0."""
        # Counted like an image: otherwise a burst of SETUPs could pass the session limit before the first image
        # exists.
        self._in_progress += 1
        self._states.put(
            session_id, operations.SESSION_INIT_IN_PROGRESS | permit << operations.SESSION_STATE_BITS
        )
        return 0

    def is_in_progress(self, session_id: int) -> bool:
        """Return whether the conductor creates the image of a session."""
        state = self._states.get(session_id, operations.SESSION_UNKNOWN)
        return (state & operations.SESSION_STATE_MASK) == operations.SESSION_INIT_IN_PROGRESS

    def set_cool_down(self, session_id: int, last_frame_ns: int) -> int:
        """Set the state of a session whose image was removed before its end; return 0.

        Beyond MAX_COOL_DOWNS the session that was silent for longest is forgotten: one that ended, most likely.
        """
        if self._cool_downs >= operations.MAX_COOL_DOWNS:
            self._forget_silent()
        if not self.is_cooling_down(session_id):
            self._cool_downs += 1
        self._states.put(
            session_id, operations.SESSION_COOL_DOWN | last_frame_ns << operations.SESSION_STATE_BITS
        )
        return 0

    def _forget_silent(self) -> int:
        found: int = -1
        for slot in range(self._states.capacity):
            # The state is in the lower bits, so values of one state are in the order of their times.
            if (
                self._states.is_used(slot)
                and (self._states.value_at(slot) & operations.SESSION_STATE_MASK)
                == operations.SESSION_COOL_DOWN
                and (found < 0 or self._states.value_at(slot) < self._states.value_at(found))
            ):
                found = slot
        return 0 if found < 0 else self.forget(self._states.key_at(found))

    def extend_cool_down(self, session_id: int, state: int, now_ns: int) -> int:
        """Record a frame of a session if it is in COOL_DOWN; return 0."""
        if (state & operations.SESSION_STATE_MASK) == operations.SESSION_COOL_DOWN:
            self._states.put(
                session_id, operations.SESSION_COOL_DOWN | now_ns << operations.SESSION_STATE_BITS
            )
        return 0

    def is_cooling_down(self, session_id: int) -> bool:
        """Return whether a session is in COOL_DOWN."""
        state = self._states.get(session_id, operations.SESSION_UNKNOWN)
        return (state & operations.SESSION_STATE_MASK) == operations.SESSION_COOL_DOWN

    def hand_over(self, session_id: int) -> int:
        """Forget the state of a session that has an image now; return the permit of the image, or NO_PERMIT."""
        permit: int = operations.NO_PERMIT
        if self.is_cooling_down(session_id):
            self._cool_downs -= 1
        if self.is_in_progress(session_id):
            self._in_progress -= 1
            permit = self._states.get(session_id, 0) >> operations.SESSION_STATE_BITS
        self._states.remove(session_id)
        return permit

    def forget(self, session_id: int) -> int:
        """Forget the state of a session without an image, and release the permit of one in progress; return 0."""
        permit = self.hand_over(session_id)
        if permit != operations.NO_PERMIT:
            self._awaited.release(permit)
            self._awaited.stop_counting(permit)
        return 0

    def is_at_limit(self, session_limit: int) -> bool:
        """Return whether the images, including those being created, have reached the limit."""
        return self._images.size() + self._in_progress >= session_limit

    def unsubscribe_all(self) -> int:
        """Keep only the sessions with a subscription of their own; images of others get no more frames. Return 0."""
        self._is_all_sessions = False
        for slot in range(self._states.capacity):
            while self._states.is_used(slot) and self._sessions.get(self._states.key_at(slot), 0) == 0:
                self.forget(self._states.key_at(slot))
        for slot in range(self._images.capacity()):
            while self._images.is_used(slot) and self._sessions.get(self._images.key_at(slot), 0) == 0:
                self._images.remove(self._images.key_at(slot))
        return 0
