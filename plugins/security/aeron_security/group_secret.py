"""Protector `group-secret`: all members of a channel share a secret, from a file.

Not here: the datagrams and their keys (`_native`), which docs/wire/secure-udp.md describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.spi.endpoints import Fault
from aeron_core.spi.protection import DatagramProtector, ProtectorParams
from aeron_security._native import sealing
from aeron_security.key_files import check_ids, read_secret
from aeron_security.options import COMMON_OPTIONS, CommonOptions, check_machine, check_names

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.datagrams import DatagramChannel

#: Name of the protector in a profile, the default.
NAME: Final = "group-secret"
OPTIONS: Final = ("secret_file", "accepted_secret_files", *COMMON_OPTIONS)
MAX_SECRETS: Final = 4

#: By reason; constant, because each text is an entry of the error log.
_FAULTS: Final = {
    "plain": "it is not sealed: set security= of the channel at its sender, or it was sent by a stranger",
    "secret": (
        "it is sealed with another secret: use the same secret file, and the same protector, for all members of the "
        "channel"
    ),
    "role": "it was sent by a socket of the same side: check the endpoints of the channel",
    "forged": "its seal is wrong: use the same cipher for all members of the channel, or it was forged or damaged",
}
#: Refusals that applications see as refused peers; the others occur in a working network.
_OF_PEERS: Final = frozenset(_FAULTS)


@frozen()
class GroupSecretOptions:
    """Options of a profile: files with secrets, of which the first one seals, and those of all protectors."""

    secret_files: tuple[str, ...]
    common: CommonOptions

    @classmethod
    def parse(cls, profile: str, options: Mapping[str, str]) -> GroupSecretOptions:
        """Return the options of a profile; raise ConfigurationError for an unknown or wrong one."""
        heading = f"security profile {profile!r}"
        check_names(heading, options, OPTIONS)
        if "secret_file" not in options:
            raise ConfigurationError(
                f"{heading}: has no secret_file: set it to a file that `aeron-core keys generate` has written"
            )
        accepted = [path for path in options.get("accepted_secret_files", "").split(":") if path]
        if len(accepted) >= MAX_SECRETS:
            raise ConfigurationError(
                f"{heading}: accepted_secret_files has {len(accepted)} files: must be at most {MAX_SECRETS - 1}"
            )
        return cls((options["secret_file"], *accepted), CommonOptions.parse(heading, options))


class GroupSecretProtector(DatagramProtector):
    """Seals the datagrams of one endpoint. Raises ConfigurationError for wrong options, and if libcrypto is missing."""

    overhead = sealing.OVERHEAD

    def __init__(self, params: ProtectorParams) -> None:
        options = GroupSecretOptions.parse(params.profile, params.options)
        check_machine(params.profile, options.common)
        found = [read_secret(path) for path in options.secret_files]
        check_ids(options.secret_files, found)
        self._session = sealing.SealingSession(
            found,
            options.common.cipher,
            params.role,
            params.role.peer,
            params.clock,
            rotate_interval_ns=options.common.rotation_interval_ns,
        )
        self._counters = {
            name: params.new_counter(f"security-{name}") for name in ("sealed", "opened", "rotations")
        }
        for reason in sealing.REASONS:
            if reason == "handshake":
                continue
            new = params.new_refusal_counter if reason in _OF_PEERS else params.new_counter
            self._counters[reason] = new(f"security-refused-{reason}")

    def protect(
        self, datagrams: DatagramChannel, reply_address: SocketAddress | None = None
    ) -> DatagramChannel:
        """See `DatagramProtector.protect`."""
        return sealing.SealedDatagrams(datagrams, self._session, reply_address)

    def take_fault(self) -> Fault | None:
        """See `DatagramProtector.take_fault`."""
        found = self._session.take_fault()
        if found is None:
            return None
        reason, source = found
        return Fault(f"refused a datagram: {_FAULTS[reason]}", str(source))

    def on_timer(self, now_ns: int) -> None:
        """See `DatagramProtector.on_timer`."""
        self._session.end_filters(now_ns)
        counts = self._session.counts()
        for name, counter in self._counters.items():
            counter.set_release(counts[name])

    def close(self) -> None:
        """See `DatagramProtector.close`."""
        # Breaks the cycle with sockets that were not closed, which would keep secrets until the collector runs.
        self._session.sockets.clear()
