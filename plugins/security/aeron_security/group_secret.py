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
from aeron_core.uri.values import parse_duration_ns
from aeron_security._native import sealing
from aeron_security.key_files import check_ids, read_secret

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.datagrams import DatagramChannel

#: Name of the protector in a profile, the default.
NAME: Final = "group-secret"
OPTIONS: Final = (
    "secret_file",
    "accepted_secret_files",
    "cipher",
    "rotation_interval",
    "allow_weak_freshness",
)
CIPHERS: Final = {"aes-128-gcm": 1, "aes-256-gcm": 2, "chacha20-poly1305": 3}
MAX_SECRETS: Final = 4
_S: Final = 1_000_000_000
_MIN_ROTATION_NS: Final = 1 * _S
_MAX_ROTATION_NS: Final = 7 * 24 * 3600 * _S

#: By reason; constant, because each text is an entry of the error log.
_FAULTS: Final = {
    "plain": "it is not sealed: set security= of the channel at its sender, or it was sent by a stranger",
    "secret": "it is sealed with another secret: use the same secret file for all members of the channel",
    "role": "it was sent by a socket of the same side: check the endpoints of the channel",
    "forged": "its seal is wrong: use the same cipher for all members of the channel, or it was forged or damaged",
}
#: Refusals that applications see as refused peers; the others occur in a working network.
_OF_PEERS: Final = frozenset(_FAULTS)
LIBRARY_REMEDY: Final = "install OpenSSL 3 (on Debian, apt-get install libssl3)"


@frozen()
class GroupSecretOptions:
    """Options of a profile: files with secrets, of which the first one seals; `cipher`: a number of the wire page."""

    secret_files: tuple[str, ...]
    cipher: int
    rotation_interval_ns: int
    allows_weak_freshness: bool

    @classmethod
    def parse(cls, profile: str, options: Mapping[str, str]) -> GroupSecretOptions:
        """Return the options of a profile; raise ConfigurationError for an unknown or wrong one."""
        heading = f"security profile {profile!r}"
        for name in options:
            if name not in OPTIONS:
                raise ConfigurationError(
                    f"{heading}: unknown option {name!r}: must be one of {', '.join(OPTIONS)}"
                )
        if "secret_file" not in options:
            raise ConfigurationError(
                f"{heading}: has no secret_file: set it to a file that `aeron-core keys generate` has written"
            )
        accepted = [path for path in options.get("accepted_secret_files", "").split(":") if path]
        if len(accepted) >= MAX_SECRETS:
            raise ConfigurationError(
                f"{heading}: accepted_secret_files has {len(accepted)} files: must be at most {MAX_SECRETS - 1}"
            )
        cipher = options.get("cipher", "aes-128-gcm")
        if cipher not in CIPHERS:
            raise ConfigurationError(f"{heading}: cipher={cipher}: must be one of {', '.join(CIPHERS)}")
        weak = options.get("allow_weak_freshness", "false")
        if weak not in ("true", "false"):
            raise ConfigurationError(f"{heading}: allow_weak_freshness={weak}: must be true or false")
        return cls(
            (options["secret_file"], *accepted),
            CIPHERS[cipher],
            _rotation_ns(heading, options),
            weak == "true",
        )


def _rotation_ns(heading: str, options: Mapping[str, str]) -> int:
    text = options.get("rotation_interval", "3600s")
    try:
        interval_ns = parse_duration_ns(text)
    except ConfigurationError:
        interval_ns = 0
    if not _MIN_ROTATION_NS <= interval_ns <= _MAX_ROTATION_NS:
        raise ConfigurationError(
            f"{heading}: rotation_interval={text}: must be a duration from 1s to 604800s"
        )
    return interval_ns


def check_machine(profile: str, options: GroupSecretOptions) -> None:
    """Raise ConfigurationError if this machine has not what a profile needs."""
    heading = f"security profile {profile!r}"
    if not sealing.is_available():
        raise ConfigurationError(f"{heading}: found no libcrypto.so.3: {LIBRARY_REMEDY}")
    if not (sealing.has_fresh_numbers() or options.allows_weak_freshness):
        raise ConfigurationError(
            f"{heading}: the processor has no instruction for random numbers, without which two copies of one "
            f"virtual machine may use a key twice: set allow_weak_freshness=true if no snapshot of this machine is "
            f"started twice"
        )


class GroupSecretProtector(DatagramProtector):
    """Seals the datagrams of one endpoint. Raises ConfigurationError for wrong options, and if libcrypto is missing."""

    overhead = sealing.OVERHEAD

    def __init__(self, params: ProtectorParams) -> None:
        options = GroupSecretOptions.parse(params.profile, params.options)
        check_machine(params.profile, options)
        found = [read_secret(path) for path in options.secret_files]
        check_ids(options.secret_files, found)
        self._session = sealing.SealingSession(
            found,
            options.cipher,
            params.role,
            params.role.peer,
            params.clock,
            rotate_interval_ns=options.rotation_interval_ns,
        )
        self._counters = {
            name: params.new_counter(f"security-{name}") for name in ("sealed", "opened", "rotations")
        }
        for reason in sealing.REASONS:
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
        for name, count in self._session.counts().items():
            self._counters[name].set_release(count)
