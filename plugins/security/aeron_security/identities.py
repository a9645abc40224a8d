"""Protector `identities`: hosts with key pairs and lists of allowed peers agree on the keys of each socket.

Not here: messages of a handshake (`handshakes`), and sealing (`_native`). Source: docs/wire/secure-udp.md.
Invariant: after a peer is removed from the list, it is given no key, and the keys that it has are replaced.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.spi.endpoints import Fault
from aeron_core.spi.protection import DatagramProtector, ProtectorParams
from aeron_security._native import sealing
from aeron_security.identity_files import AllowedPeer, read_identity
from aeron_security.options import COMMON_OPTIONS, CommonOptions, check_machine, check_names
from aeron_security.peer_lists import PeerList

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.datagrams import DatagramChannel
    from aeron_security.handshakes import Grant

#: Name of the protector in a profile.
NAME: Final = "identities"
OPTIONS: Final = ("identity", "allow", *COMMON_OPTIONS)
#: Interval at which handshakes that do not end are forgotten.
_FORGET_INTERVAL_NS: Final = 250_000_000
#: Time in which a new secret is granted before it is used: a receiver sends a status message each 200 ms at least, and
#: then takes part in a handshake.
DELIVERY_NS: Final = 300_000_000
#: After the last one that is awaited was granted it: so it has admitted that before it receives datagrams.
#: Invented: in one duty cycle, a busy conductor answers some handshakes, each in 0.5 ms.
RECEIPT_NS: Final = 50_000_000
# Datagrams of handshakes in one duty cycle of the conductor, and of them those that are not refused for a budget.
# Invented: a first takes 0.5 ms, a refusal 5 us.
_TAKE_LIMIT: Final = 64
_WORK_LIMIT: Final = 8
_SECRET_LENGTH: Final = 32
PACKAGE_REMEDY: Final = "install it with `pip install 'aeron-core[secure]'`"

#: By reason; constant, because each text is an entry of the error log.
_FAULTS: Final = {
    "plain": "it is not sealed: set security= of the channel at its sender, or it was sent by a stranger",
    "secret": "it is sealed with a group secret: use protector=identities for all members of the channel",
    "role": "it was sent by a socket of the same side: check the endpoints of the channel",
    "forged": "its seal is wrong: use the same cipher for all members of the channel, or it was forged or damaged",
    "identity": "its identity is not in the list of peers, or has expired: add it with `aeron-core keys allow`",
}


@frozen()
class IdentityOptions:
    """Options of a profile: the files of the identity and of the allowed peers, and those of all protectors."""

    identity: str
    allow: str
    common: CommonOptions

    @classmethod
    def parse(cls, profile: str, options: Mapping[str, str]) -> IdentityOptions:
        """Return the options of a profile; raise ConfigurationError for an unknown or wrong one."""
        heading = f"security profile {profile!r}"
        check_names(heading, options, OPTIONS)
        for name, remedy in (
            ("identity", "set it to a file that `aeron-core keys generate --identity` has written"),
            ("allow", "set it to a file that `aeron-core keys allow` has written"),
        ):
            if name not in options:
                raise ConfigurationError(f"{heading}: has no {name}: {remedy}")
        return cls(options["identity"], options["allow"], CommonOptions.parse(heading, options))


def check_package(profile: str) -> None:
    """Raise ConfigurationError if the package cryptography is not installed."""
    try:
        import cryptography.hazmat.primitives.asymmetric.x25519  # noqa: F401, PLC0415 - optional
    except ImportError:
        raise ConfigurationError(
            f"security profile {profile!r}: protector={NAME} needs the package cryptography: {PACKAGE_REMEDY}"
        ) from None


class _Order(NamedTuple):
    """The arguments of `SealingSession.order`."""

    code: int
    owner: int
    key: bytes
    secret: bytes = bytes(_SECRET_LENGTH)
    number: int = 0
    line: int = 0
    generation: int = 0
    began_ns: int = sealing.LAST_NS


class IdentityProtector(DatagramProtector):
    """Seals the datagrams of one endpoint for peers that proved an allowed identity.

    Raises ConfigurationError for wrong options and files, and if libcrypto or the package cryptography is missing.
    """

    overhead = sealing.OVERHEAD

    def __init__(self, params: ProtectorParams) -> None:
        options = IdentityOptions.parse(params.profile, params.options)
        check_machine(params.profile, options.common)
        check_package(params.profile)
        from aeron_security import handshakes, noise  # noqa: PLC0415 - need the optional package cryptography

        self._refused_error, self._new_grant = handshakes.HandshakeRefusedError, handshakes.Grant
        private_key = read_identity(options.identity)
        self._public_key = public_key = noise.public_key_of(private_key)
        self._list = PeerList.of(options.allow, params.clock)
        self._peers = self._list.allowed
        self._list_problem = ""
        self._session = sealing.SealingSession(
            [os.urandom(_SECRET_LENGTH)],
            options.common.cipher,
            params.role,
            params.role.peer,
            params.clock,
            rotate_interval_ns=options.common.rotation_interval_ns,
            public_key=public_key,
        )
        self._handshakes = handshakes.Handshakes(
            handshakes.Host(
                private_key,
                public_key,
                options.common.cipher,
                params.role,
                self._grant,
                self._admit,
                sealing.fresh_number,
            )
        )
        self._handshakes.set_peers(self._peers)
        # Orders that the agent has no space for.
        self._orders: deque[_Order] = deque()
        # Numbers of identities, by public key, for the agent: from 1 to that of peers in a list.
        self._owners: dict[bytes, int] = {}
        self._line = int.from_bytes(os.urandom(8), "little")
        # Number of secrets that have replaced others, with the next one.
        self._renewals = 0
        self._renewed = b""
        # While the next secret is granted: when it is used at the latest, and whether a peer that has it was removed.
        self._renew_at_ns: int | None = None
        self._renews_again = False
        self._is_delivered = False
        # Of a group, several sockets of a host may have one address.
        self._has_group = False
        self._forget_at_ns = 0
        self._faults: dict[str, Fault] = {}
        self._refused = dict.fromkeys(("identity", "handshake", "busy"), 0)
        new = params.new_counter
        self._counters = {
            name: new(f"security-{name}")
            for name in ("sealed", "opened", "rotations", "handshakes", "rekeys")
        }
        for reason in (*sealing.REASONS, "identity"):
            make = params.new_refusal_counter if reason in _FAULTS else new
            self._counters[reason] = make(f"security-refused-{reason}")

    @property
    def agreements(self) -> int:
        """Number of times that X25519 was computed for handshakes."""
        return self._handshakes.agreements

    def protect(
        self, datagrams: DatagramChannel, reply_address: SocketAddress | None = None
    ) -> DatagramChannel:
        """See `DatagramProtector.protect`."""
        self._has_group |= reply_address is not None
        return sealing.SealedDatagrams(datagrams, self._session, reply_address)

    def take_fault(self) -> Fault | None:
        """See `DatagramProtector.take_fault`."""
        if self._faults:
            return self._faults.pop(next(iter(self._faults)))
        found = self._session.take_fault()
        if found is None:
            return None
        reason, source = found
        return Fault(f"refused a datagram: {_FAULTS[reason]}", str(source))

    def on_timer(self, now_ns: int) -> None:
        """See `DatagramProtector.on_timer`."""
        self._session.end_filters(now_ns)
        counts = self._session.counts()
        counts |= {"handshakes": self._handshakes.completed, "rekeys": self._renewals}
        for name, count in counts.items():
            self._counters[name].set_release(count + self._refused.get(name, 0))
        self._counters["identity"].set_release(self._refused["identity"])

    def do_work(self, now_ns: int) -> int:
        """See `DatagramProtector.do_work`."""
        work = self._give_orders()
        self._check_list(now_ns)
        if now_ns >= self._forget_at_ns:
            self._forget_at_ns = now_ns + _FORGET_INTERVAL_NS
            self._handshakes.forget_old(now_ns)
        if self._renew_at_ns is not None:
            if self._handshakes.grants.is_delivered and not self._is_delivered:
                self._is_delivered = True
                self._renew_at_ns = min(self._renew_at_ns, now_ns + RECEIPT_NS)
            if now_ns >= self._renew_at_ns:
                self._renew(now_ns)
        busy = self._refused["busy"]
        for taken in range(1, _TAKE_LIMIT + 1):
            found = self._session.take_handshake()
            if found is None:
                break
            work += 1
            self._on_datagram(*found, now_ns)
            if taken - (self._refused["busy"] - busy) >= _WORK_LIMIT:
                break
        return work

    def close(self) -> None:
        """See `DatagramProtector.close`."""
        # Breaks the cycles with sockets and handshakes, which would keep secrets and counters until the collector runs.
        self._session.sockets.clear()
        vars(self).clear()

    def _on_datagram(self, data: bytes, source: SocketAddress, number: int, now_ns: int) -> None:
        try:
            port = None if self._has_group else source.port
            answer = self._handshakes.on_datagram(data, source.host, now_ns, number, port)
        except self._refused_error as error:
            self._refused[error.reason] += 1
            if error.reason in _FAULTS:
                text = f"refused a datagram: {_FAULTS[error.reason]}"
                detail = f"public key {error.public_key.hex()}" if error.public_key else ""
                self._faults[error.reason] = Fault(text, str(source), detail)
            return
        channel = self._session.sockets.get(number)
        if answer is not None and channel is not None:
            channel.send_handshake(answer, source)

    def _check_list(self, now_ns: int) -> None:
        self._list.check(now_ns)
        if self._list.problem != self._list_problem:
            self._list_problem = self._list.problem
            if self._list_problem:
                self._faults["list"] = Fault(f"kept the list of peers as it was: {self._list_problem}", "")
        allowed = self._list.allowed
        if allowed is self._peers:
            return
        removed = self._peers.keys() - allowed.keys()
        self._peers = allowed
        for key in removed:
            if key in self._owners:
                self._orders.append(_Order(sealing.FORGET, self._owners.pop(key), key))
        if self._handshakes.grants.has_any(removed):
            if self._renew_at_ns is None:
                self._deliver(now_ns)
            else:
                # The next secret is used first: the peers that have it need that, and one that was removed before must
                # not keep its key for longer.
                self._renews_again = True
        self._handshakes.set_peers(allowed)
        self._give_orders()

    def _deliver(self, now_ns: int) -> None:
        """Draw the next secret, and grant it to all peers before it is used."""
        self._renewed = os.urandom(_SECRET_LENGTH)
        self._handshakes.replace_secret(now_ns)
        self._orders.append(_Order(sealing.GREET, 0, self._public_key))
        self._renewals += 1
        self._renew_at_ns = now_ns + DELIVERY_NS
        self._is_delivered = False

    def _renew(self, now_ns: int) -> None:
        self._renew_at_ns = None
        self._handshakes.grants.await_only(())
        self._orders.append(_Order(sealing.RENEW, 0, self._public_key, self._renewed))
        if self._renews_again:
            self._renews_again = False
            self._deliver(now_ns)
            # Those that were removed have the secret, but are not granted the next one.
            self._handshakes.grants.await_only(self._peers)
        self._give_orders()

    def _grant(self) -> Grant | None:
        found = self._session.grant()
        if found is None:
            return None
        prk, number, renewals = found
        if renewals != self._renewals:
            # Until the agent uses it, the next secret is granted, which no datagram has used.
            return self._new_grant(self._renewed, 0, self._line, self._renewals)
        self._renewed = b""
        return self._new_grant(prk, number, self._line, renewals)

    def _admit(self, peer: AllowedPeer, grant: Grant, began_ns: int) -> None:
        owner = self._owners.get(peer.public_key, 0)
        if owner == 0:
            # The least free one: an order to forget its last identity precedes this admission.
            used = set(self._owners.values())
            owner = next(number for number in itertools.count(1) if number not in used)
            self._owners[peer.public_key] = owner
        self._orders.append(_Order(sealing.ADMIT, owner, peer.public_key, *grant, began_ns))
        self._give_orders()

    def _give_orders(self) -> int:
        given = 0
        while self._orders and self._session.order(*self._orders[0]):
            self._orders.popleft()
            given += 1
        return given
