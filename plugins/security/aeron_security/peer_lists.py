"""Allowed peers in a file, for all endpoints of a driver that name it.

Not here: what a removal causes (`identities`). Invariant: `allowed` is replaced whenever a peer is added, is removed or
expires, and never changed: an endpoint compares only which mapping it is.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from aeron_core.errors import ConfigurationError
from aeron_security.identity_files import AllowedPeer, read_peers

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock

#: Interval at which a changed list is noticed.
CHECK_INTERVAL_NS: Final = 250_000_000
_NEVER_MS: Final = 1 << 63


class PeerList:
    """The allowed peers in a file, read again when it changes. Used by the conductor of one driver.

    Raises ConfigurationError if the file cannot be read, others can change it, or it has a wrong line.
    """

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._stamp = self._stat()
        self._peers = read_peers(path)
        self._check_at_ns = 0
        #: Why the file could not be read the last time: until that is solved, the previous peers stay.
        self.problem = ""
        #: Peers that have not expired, by public key.
        self.allowed: dict[bytes, AllowedPeer] = {}
        self._set_allowed()

    @staticmethod
    def of(path: str, clock: Clock) -> PeerList:
        """Return the list of a driver, as it is in the file now. Raises ConfigurationError as the class."""
        key = id(clock), path
        found = _shared.get(key)
        if found is None:
            found = _shared[key] = PeerList(path, clock)
        else:
            found._read_changes()
        return found

    def check(self, now_ns: int) -> None:
        """Read the file if it has changed, four times a second at most, and drop peers that have expired."""
        if now_ns < self._check_at_ns:
            return
        self._check_at_ns = now_ns + CHECK_INTERVAL_NS
        with contextlib.suppress(ConfigurationError):
            self._read_changes()
        # The system's time may be set back.
        if not self._begin_ms <= self._clock.epoch_ms() < self._end_ms:
            self._set_allowed()

    def _stat(self) -> tuple[int, ...]:
        with contextlib.suppress(OSError):
            found = os.stat(self._path)
            # With the time of the change, because a copy may keep that of the modification.
            times = (found.st_mtime_ns, found.st_ctime_ns)
            return (*times, found.st_size, found.st_dev, found.st_ino, found.st_mode, found.st_uid)
        return ()

    def _read_changes(self) -> None:
        stamp = self._stat()
        if stamp == self._stamp:
            return
        try:
            self._peers = read_peers(self._path)
        except ConfigurationError as error:
            # The stamp stays, so that it is read again: a removal of a peer must not be lost because no descriptor was
            # free for a moment.
            self.problem = str(error)
            raise
        self._stamp, self.problem = stamp, ""
        self._set_allowed()

    def _set_allowed(self) -> None:
        now_ms = self._clock.epoch_ms()
        ends_ms = [_NEVER_MS if each.until_ms is None else each.until_ms for each in self._peers]
        pairs = zip(self._peers, ends_ms, strict=True)
        allowed = {each.public_key: each for each, end_ms in pairs if now_ms < end_ms}
        if allowed != self.allowed:
            self.allowed = allowed
        # The same peers are allowed at these times.
        self._begin_ms = max((end_ms for end_ms in ends_ms if end_ms <= now_ms), default=-_NEVER_MS)
        self._end_ms = min((end_ms for end_ms in ends_ms if end_ms > now_ms), default=_NEVER_MS)


#: Those that endpoints use. Each driver has a clock of its own, which its lists keep alive.
_shared: Final[WeakValueDictionary[tuple[int, str], PeerList]] = WeakValueDictionary()
