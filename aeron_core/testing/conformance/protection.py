"""Conformance tests of datagram protectors: the properties that streams and operators rely on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.spi.protection import (
    DatagramProtector,
    DatagramTransform,
    ProtectedRole,
    ProtectorParams,
    adapt_datagram_protector,
)
from aeron_core.testing.probes import DatagramProbe

_ROUNDS: Final = 20
_STEP_NS: Final = 10_000_000


class _ProtectedEnd:
    """One side: a protected channel on a wire that the test moves datagrams across."""

    def __init__(self, protector: DatagramProtector, address: SocketAddress) -> None:
        self.protector = protector
        self.address = address
        self.sent: list[bytes] = []
        self._waiting: list[tuple[bytes, SocketAddress]] = []
        self.probe = DatagramProbe(protector.protect(PythonDatagramChannel(self)))

    # What `PythonDatagramChannel` calls.

    def receive(self, limit: int) -> list[tuple[bytes, SocketAddress]]:
        taken, self._waiting = self._waiting[:limit], self._waiting[limit:]
        return taken

    def send(self, datagram: bytes, _destination: SocketAddress) -> None:
        self.sent.append(bytes(datagram))

    def local_address(self) -> SocketAddress:
        return self.address

    def connect(self, address: SocketAddress) -> None: ...

    def close(self) -> None: ...

    # What the tests call.

    def take_sent(self) -> list[bytes]:
        sent, self.sent = self.sent, []
        return sent

    def take(self, datagrams: Sequence[bytes], source: SocketAddress) -> list[bytes]:
        """Receive datagrams of the wire; return what the channel passes on."""
        self._waiting += [(datagram, source) for datagram in datagrams]
        found: list[bytes] = []
        while self._waiting:
            slots = self.probe.receive()
            assert all(slot.datagrams != [b""] for slot in slots), "an empty slot was passed on"
            found += [content for slot in slots for content in slot.datagrams]
        return found


class DatagramProtectorConformance(ABC):
    """Suite for a datagram protector: subclass as `Test…` and override `make`."""

    #: Whether a datagram that arrives again is dropped.
    refuses_replays = True
    #: Whether the content of a datagram cannot be read on the wire.
    encrypts = True

    @abstractmethod
    def make(self, params: ProtectorParams) -> DatagramProtector | DatagramTransform:
        """Return a new protector; all that are made in one test must be able to exchange datagrams."""

    def test_what_is_sent_arrives_once_unchanged_and_in_order(self) -> None:
        """In both directions, after what the protectors send themselves to begin."""
        here, there = self._begin()
        for sender, receiver in ((here, there), (there, here)):
            contents = [bytes([number]) * (32 + 8 * number) for number in range(100)]
            assert self._pass(sender, receiver, contents) == contents

    def test_datagrams_of_one_run_arrive_as_datagrams(self) -> None:
        """A run is contiguous datagrams of equal length; the last one may be shorter."""
        here, there = self._begin()
        run = Random(1).randbytes(10 * 256 + 32)
        assert here.probe.send([(run, 256), (run[:64], 64)], there.address) == (2, len(run) + 64)
        expected = [run[at : at + 256] for at in range(0, len(run), 256)] + [run[:64]]
        assert there.take(here.take_sent(), here.address) == expected

    def test_the_overhead_is_exact(self) -> None:
        """The driver reduces the length of frames by it."""
        here, there = self._begin()
        for length in (32, 40, 1344, 8192):
            here.probe.send([(bytes(length), length)], there.address)
            assert [len(each) for each in here.take_sent()] == [length + here.protector.overhead]

    def test_a_changed_datagram_is_dropped(self) -> None:
        """Any bit may have been changed on the path, and any part lost."""
        here, there = self._begin()
        here.probe.send([(bytes(32), 32)], there.address)
        (datagram,) = here.take_sent()
        for bit in range(8 * len(datagram)):
            self._clock.advance(_STEP_NS)
            changed = bytearray(datagram)
            changed[bit // 8] ^= 1 << bit % 8
            assert there.take([bytes(changed)], here.address) == [], f"bit {bit}"
        for length in range(len(datagram)):
            assert there.take([datagram[:length]], here.address) == [], f"{length} bytes"
        assert there.take([datagram], here.address) == [bytes(32)]

    def test_a_plain_datagram_is_dropped_and_not_answered(self) -> None:
        """A stranger learns nothing."""
        here, there = self._begin()
        there.take_sent()
        for length in (0, 1, 8, 36, 40, 1408, 8192):
            assert there.take([Random(length).randbytes(length)], here.address) == []
        assert there.take_sent() == []

    def test_a_datagram_that_is_reflected_is_dropped(self) -> None:
        """A channel does not receive what its own side sends."""
        here, there = self._begin()
        here.probe.send([(bytes(32), 32)], there.address)
        assert here.take(here.take_sent(), there.address) == []

    def test_a_replayed_datagram_is_dropped(self) -> None:
        """Unless `refuses_replays` is false."""
        here, there = self._begin()
        here.probe.send([(bytes(32), 32)], there.address)
        sent = here.take_sent()
        assert there.take(sent, here.address) == [bytes(32)]
        assert not self.refuses_replays or there.take(sent, here.address) == []

    def test_the_content_is_not_on_the_wire(self) -> None:
        """Unless `encrypts` is false."""
        here, there = self._begin()
        text = b"a text that is long enough to be found" * 20
        here.probe.send([(text, len(text))], there.address)
        (datagram,) = here.take_sent()
        assert not self.encrypts or not any(text[at : at + 16] in datagram for at in range(len(text) - 15))

    def test_faults_have_texts_without_values_of_peers(self) -> None:
        """The error log keeps each text until the driver ends."""
        here, there = self._begin()
        texts = set()
        for number in range(50):
            self._clock.advance(_STEP_NS)
            there.take([Random(number).randbytes(100)], SocketAddress.of("10.0.0.9", 1000 + number))
            there.protector.on_timer(self._clock.nano_time())
            fault = there.protector.take_fault()
            if fault is not None:
                texts.add(fault.reason)
        assert len(texts) <= 1
        assert here.protector.take_fault() is None

    def _begin(self) -> tuple[_ProtectedEnd, _ProtectedEnd]:
        """Return a publication and a subscription that accept each other's datagrams."""
        self._clock = Clock.manual()
        here = self._end(ProtectedRole.PUBLICATION, SocketAddress.of("10.0.0.1", 1001))
        there = self._end(ProtectedRole.SUBSCRIPTION, SocketAddress.of("10.0.0.2", 1002))
        for _ in range(_ROUNDS):
            self._clock.advance(_STEP_NS)
            arrived = []
            for sender, receiver in ((here, there), (there, here)):
                sender.protector.on_timer(self._clock.nano_time())
                sender.protector.do_work(self._clock.nano_time())
                sender.probe.send([(bytes(32), 32)], receiver.address)
                arrived.append(receiver.take(sender.take_sent(), sender.address) == [bytes(32)])
            if all(arrived) and not here.sent and not there.sent:
                return here, there
        raise AssertionError(f"no datagram arrived after {_ROUNDS} rounds in both directions")

    def _end(self, role: ProtectedRole, address: SocketAddress) -> _ProtectedEnd:
        params = ProtectorParams(profile="conformance", role=role, clock=self._clock)
        return _ProtectedEnd(adapt_datagram_protector(self.make(params), params, _raise), address)

    def _pass(self, sender: _ProtectedEnd, receiver: _ProtectedEnd, contents: Sequence[bytes]) -> list[bytes]:
        for content in contents:
            sender.probe.send([(content, len(content))], receiver.address)
        return receiver.take(sender.take_sent(), sender.address)


def _raise(error: BaseException) -> None:
    raise AssertionError(
        f"the protector raised {error!r}: none of its methods may raise an exception"
    ) from error
