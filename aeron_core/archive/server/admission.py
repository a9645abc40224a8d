"""Limits on the clients of an archive: sessions, and requests in a second.

A *stranger* is a client whose credentials were not accepted, or not yet. Strangers share a small pool, in which the
host with the most sessions loses its oldest one, so that they neither keep others out nor use much memory. What the
archive sends to a stranger goes to an address that the stranger chose: therefore few begin in a second, few have names,
and none has a multicast address. A response channel of a stranger binds a port of this host: only few do at a time.

Not here: which credentials are accepted (authentication).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from aeron_core.archive.server.authentication import Admitted, Decision
from aeron_core.archive.server.channels import is_name, is_response
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.served_session import SessionState

if TYPE_CHECKING:
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession
    from aeron_core.client.subscriptions.header import FragmentImage
    from aeron_core.uri.channel_uri import ChannelUri

# Invented numbers: many clients can connect in a second, and what a stranger causes is little.
#: Sessions of strangers at the same time.
MAX_STRANGERS: Final = 32
#: Of those, sessions whose response channel has a name that is being resolved: a driver resolves some at a time.
MAX_NAMES: Final = 4
#: Likewise, sessions with a response channel, and the lowest port that it may bind.
MAX_RESPONSE_CHANNELS: Final = 4
LOWEST_PORT: Final = 1024
#: Sessions of strangers that begin in a second, in total and of one host.
MAX_STRANGERS_IN_SECOND: Final = 64
MAX_STRANGERS_OF_HOST_IN_SECOND: Final = 16
_MS_PER_S: Final = 1000


class Admission:
    """The limits of one archive; its thread uses it."""

    def __init__(self, archive: ServedArchive) -> None:
        self._archive = archive
        self._second = 0
        self._strangers: Counter[str] = Counter()  # of this second, by host
        self._response_channels = 0  # of strangers, that began in this second
        self._requests: Counter[str] = Counter()  # of this second, by host
        self._waiting: set[str] = set()  # likewise

    def check(self, image: FragmentImage, uri: ChannelUri, decision: Decision) -> None:
        """Raise ArchiveRefusedError if no session may begin; may end that of another client, see the module.

        `uri`: of the responses.
        """
        if isinstance(decision, Admitted):
            self.check_admitted()
        else:
            self._check_stranger(host_of(image), uri)

    def left(self, image: FragmentImage) -> int:
        """Return how many more requests of the client's host may be carried out in this second."""
        self._advance()
        return self._archive.params.max_requests - self._requests[host_of(image)]

    def take(self, image: FragmentImage, count: int) -> None:
        """Count requests of a client."""
        self._requests[host_of(image)] += count

    def note_wait(self, image: FragmentImage) -> None:
        """Count a second in which requests of a client's host wait, once."""
        host = host_of(image)
        if host not in self._waiting:
            self._waiting.add(host)
            self._archive.limits.waits.increment()

    def check_admitted(self) -> None:
        """Raise ArchiveRefusedError if no further client may be admitted; may end the session of another one."""
        sessions = [each for each in self._open_sessions() if not each.is_stranger]
        limit = self._archive.params.max_sessions
        if len(sessions) < limit:
            return
        waiting = [each for each in sessions if each.state is not SessionState.ACTIVE]
        if not waiting:
            raise refused(f"{limit} sessions are open, the most")
        self._end_one_of(waiting, "another client has taken the place of a session that was not in use")

    def _open_sessions(self) -> list[ServedSession]:
        return [each for each in self._archive.sessions.values() if each.state is not SessionState.DONE]

    def _check_stranger(self, host: str, uri: ChannelUri) -> None:
        strangers = [each for each in self._open_sessions() if each.is_stranger]
        self._advance()
        if (
            self._strangers[host] >= MAX_STRANGERS_OF_HOST_IN_SECOND
            or self._strangers.total() >= MAX_STRANGERS_IN_SECOND
        ):
            raise refused(f"client at {host}: too many clients without accepted credentials connect")
        if is_response(uri):
            self._check_response_channel(host, uri, strangers)
        if is_name(uri):
            resolving = [each for each in strangers if each.is_resolving]
            if len(resolving) >= MAX_NAMES:
                raise refused(
                    f"client at {host}: too many clients without accepted credentials have names in their channels"
                )
        if len(strangers) >= MAX_STRANGERS:
            self._end_one_of(strangers, "another client without accepted credentials has connected")
        self._strangers[host] += 1

    def _check_response_channel(self, host: str, uri: ChannelUri, strangers: list[ServedSession]) -> None:
        address = uri.get_address("control", None)
        if address is None or "endpoint" in uri or address.port < LOWEST_PORT:
            raise refused(
                f"client at {host}: {uri}: must have control, with a port from {LOWEST_PORT} on, and no endpoint, "
                "without accepted credentials"
            )
        # A port is bound for a second of linger after the end of its session.
        if (
            sum(each.has_response_channel for each in strangers) >= MAX_RESPONSE_CHANNELS
            or self._response_channels >= MAX_RESPONSE_CHANNELS
        ):
            raise refused(
                f"client at {host}: too many clients without accepted credentials have response channels"
            )
        self._response_channels += 1

    def _advance(self) -> None:
        second = self._archive.now_ms // _MS_PER_S
        if second != self._second:
            self._second = second
            self._strangers.clear()
            self._response_channels = 0
            self._requests.clear()
            self._waiting.clear()

    def _end_one_of(self, sessions: list[ServedSession], reason: str) -> None:
        """End the oldest session of the host with the most of them."""
        counts = Counter(host_of(each.image) for each in sessions)
        most = max(counts.values())
        ended = next(each for each in sessions if counts[host_of(each.image)] == most)
        ended.end(reason)
        if not ended.is_rejected:
            self._archive.limits.clients.increment()


def host_of(image: FragmentImage) -> str:
    """Return the address of a client without its port; clients of the same driver each have one of their own."""
    host, colon, _ = image.source_identity.rpartition(":")
    return host if colon and host != "aeron" else f"{image.source_identity}#{image.session_id}"
