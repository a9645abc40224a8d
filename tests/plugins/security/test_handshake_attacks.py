"""Handshakes under attack: changed, cut, replayed and reflected datagrams, strangers, and ends that are killed."""

import itertools
import os
import random
from pathlib import Path

import pytest
from aeron_security import handshakes
from aeron_security._native.sealing import SealedDatagrams, SealingSession
from aeron_security.handshakes import (
    HandshakeRefusedError,
    Handshakes,
)
from aeron_security.identities import IdentityProtector
from aeron_security.identity_files import AllowedPeer
from hosts import host
from hypothesis import given
from hypothesis import strategies as st
from identities import COOKIE, FIRST, HELLO, LENGTHS, SECOND, THIRD, public
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.spi import ProtectedRole, ProtectorParams
from aeron_core.testing import DatagramProbe

ONE, TWO, THREE, STRANGER = (bytes([number]) * 32 for number in (1, 2, 3, 4))
S = 1_000_000_000
KINDS = {HELLO: "hello", COOKIE: "cookie", FIRST: "first", SECOND: "second", THIRD: "third"}


class End:
    """A protector on a wire that the test moves datagrams across."""

    def __init__(self, options, role, host, clock):
        self.clock = clock
        self.sent, self.waiting, self.contents = [], [], []
        self.counters = {}
        self.address = SocketAddress.of(host, 1000)
        self.protector = IdentityProtector(
            ProtectorParams(profile="orders", options=options, role=role, clock=clock)
        )
        self.probe = DatagramProbe(self.protector.protect(PythonDatagramChannel(self)))

    def receive(self, limit):
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def send(self, datagram, _destination):
        self.sent.append(bytes(datagram))

    def seal(self, content=bytes(40)):
        self.probe.send([(content, len(content))], SocketAddress.of("10.0.0.9", 1))
        return self.take_sent()

    def take_sent(self):
        sent, self.sent = self.sent, []
        return sent

    def take(self, *datagrams, source):
        """Receive datagrams, and let the conductor work; return what is sent because of them."""
        self.waiting += [(datagram, source) for datagram in datagrams]
        while self.waiting:
            self.contents += [each for slot in self.probe.receive() for each in slot.datagrams]
            self.protector.do_work(self.clock.nano_time())
        self.protector.do_work(self.clock.nano_time())
        self.probe.receive()
        return self.take_sent()

    def refused(self):
        counts = self.protector._session.counts()
        return counts["handshake"] + self.protector._refused["handshake"]

    @property
    def handshakes(self):
        return self.protector._handshakes.completed


class Ends:
    def __init__(self, identities):
        self.clock = Clock.manual()
        self._options = [
            {key: value for key, value in identities.profiles(*names)["orders"].items() if key != "protector"}
            for names in (("one", "two"), ("two", "one"))
        ]
        self.restart()

    def restart(self):
        self.one = End(self._options[0], ProtectedRole.PUBLICATION, "10.0.0.1", self.clock)
        self.two = End(self._options[1], ProtectedRole.SUBSCRIPTION, "10.0.0.2", self.clock)

    def until(self, kind):
        """Run a handshake that `two` begins; return the first datagram of `kind` and its ends."""
        ends = itertools.cycle(((self.one, self.two), (self.two, self.one)))
        (datagram,) = self.one.seal()
        while datagram[5] != kind:
            sender, receiver = next(ends)
            (datagram,) = receiver.take(datagram, source=sender.address)
        return datagram, *next(ends)

    def finish(self, datagram, sender, receiver):
        """Let the rest of the handshake take place; assert that both ends have admitted each other."""
        while True:
            sent = receiver.take(datagram, source=sender.address)
            if not sent:
                break
            (datagram,), sender, receiver = sent, receiver, sender
        assert (self.one.handshakes, self.two.handshakes) == (1, 1)
        for sender, receiver in ((self.one, self.two), (self.two, self.one)):
            receiver.contents.clear()
            receiver.take(*sender.seal(b"content" * 8), source=sender.address)
            assert receiver.contents == [b"content" * 8]


@pytest.fixture
def ends(identities):
    return Ends(identities)


@pytest.fixture
def without_limits(monkeypatch):
    for name in ("IN", "OF_SOURCE_IN", "FAILED_IN", "FAILED_OF_SOURCE_IN"):
        monkeypatch.setattr(handshakes, f"MAX_{name}_SECOND", 1 << 30)
    monkeypatch.setattr(handshakes, "MAX_HINTS_IN_SECOND", 1 << 40)


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
def test_a_handshake_datagram_with_a_changed_bit_admits_nothing_and_does_not_disturb(
    without_limits, ends, kind
):
    datagram, sender, receiver = ends.until(kind)
    replies = []

    for bit in range(8 * len(datagram)):
        changed = bytearray(datagram)
        changed[bit // 8] ^= 1 << bit % 8
        replies += receiver.take(bytes(changed), source=sender.address)
    for reply in replies:
        sender.take(reply, source=receiver.address)

    already = {THIRD: (0, 1)}.get(kind, (0, 0))
    assert (ends.one.handshakes, ends.two.handshakes) == already
    if kind != HELLO:
        ends.finish(datagram, sender, receiver)


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
def test_a_handshake_datagram_of_another_length_is_refused(without_limits, ends, kind):
    datagram, sender, receiver = ends.until(kind)
    assert len(datagram) == LENGTHS[kind]

    for length in (*range(len(datagram)), len(datagram) + 1, len(datagram) + 32):
        assert receiver.take((datagram + bytes(32))[:length], source=sender.address) == []

    ends.finish(datagram, sender, receiver)


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
def test_a_handshake_datagram_that_is_replayed_admits_nothing_new(ends, kind):
    datagram, sender, receiver = ends.until(kind)
    ends.finish(datagram, sender, receiver)
    (sealed,) = sender.seal(b"content" * 8)
    receiver.take(sealed, source=sender.address)

    for _ in range(3):
        for reply in receiver.take(datagram, source=sender.address):
            sender.take(reply, source=receiver.address)
        # Its window is as it was.
        receiver.contents.clear()
        receiver.take(sealed, source=sender.address)
        assert receiver.contents == []
    # After the time of its cookie, and from another address.
    ends.clock.advance(20 * S)
    for source in (sender.address, SocketAddress.of("10.0.0.9", 1)):
        replies = receiver.take(datagram, source=source)
        assert [each[5] for each in replies] == ([COOKIE] if kind == HELLO else [])


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
def test_a_handshake_datagram_that_is_reflected_or_was_meant_for_another_run_is_ignored(ends, kind):
    datagram, sender, receiver = ends.until(kind)

    assert sender.take(datagram, source=receiver.address) == []
    ends.finish(datagram, sender, receiver)
    ends.restart()
    assert ends.one.take(datagram, source=ends.two.address) == []
    assert ends.two.take(datagram, source=ends.one.address) == []
    assert (ends.one.handshakes, ends.two.handshakes) == (0, 0)


@pytest.mark.parametrize("kind", [COOKIE, FIRST, SECOND, THIRD])
def test_a_token_or_cookie_of_another_address_is_refused(ends, kind):
    datagram, sender, receiver = ends.until(kind)

    assert receiver.take(datagram, source=SocketAddress.of("10.0.0.9", 1000)) == []
    assert receiver.take(datagram, source=sender.address.with_port(1001)) == []

    assert receiver.refused() == 2
    ends.finish(datagram, sender, receiver)


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
@pytest.mark.parametrize("killed", ["one", "two"])
def test_an_end_that_is_killed_in_a_handshake_agrees_anew_after_its_restart(ends, identities, kind, killed):
    ends.until(kind)
    before = ends.one, ends.two
    ends.restart()
    # One end is new, the other one has the state of the handshake.
    if killed == "one":
        ends.two = before[1]
    else:
        ends.one = before[0]
    for _ in range(3):
        ends.clock.advance(S // 5)
        for pair in ((ends.one, ends.two), (ends.two, ends.one)):
            datagrams = pair[0].seal(b"content" * 8)
            for here, there in (pair, pair[::-1]) * 3:
                datagrams = there.take(*datagrams, source=here.address)

    assert b"content" * 8 in ends.one.contents
    assert b"content" * 8 in ends.two.contents


def resident_length():
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
def test_a_flood_without_cookies_computes_no_agreement_and_takes_no_memory(ends, kind):
    two, numbers = ends.two, random.Random(1)
    source = SocketAddress.of("10.0.0.9", 40000)
    # Its own salt is in what it sends.
    salt = two.seal()[0][8:24]

    def flood(count):
        for _ in range(count // 100):
            ends.clock.advance(100_000)
            two.take(
                *(
                    b"AeSU" + bytes([1, kind, 0, 1]) + numbers.randbytes(16) + salt
                    + numbers.randbytes(LENGTHS[kind] - 40)
                    for _ in range(100)
                ),
                source=source,
            )  # fmt: skip

    flood(2000)
    before = resident_length()
    flood(20_000)

    assert resident_length() - before < 1_000_000
    assert two.protector.agreements == 0
    assert two.handshakes == 0
    if kind != HELLO:
        assert two.refused() == 22_000


@given(
    st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=200), st.booleans(), st.booleans()), max_size=20)
)
def test_the_agent_accepts_no_datagram_of_a_stranger(datagrams):
    wire = Wire()
    session = SealingSession([bytes(range(32))], 1, 1, 0, Clock.manual(), public_key=bytes(32))
    probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(wire), session), slots=16)
    for kind, content, is_headed, is_long in datagrams:
        header = b"AeSU" + bytes([1, kind, 0, 1]) + content[:16].ljust(16, b"x") + session.salt
        length = LENGTHS.get(kind, 100) if is_long else 300
        datagram = (header + content).ljust(length, b"y")[:length] if is_headed else content
        wire.waiting.append((datagram, SocketAddress.of("10.0.0.9", 1)))

    assert [each for slot in probe.receive() for each in slot.datagrams] == []
    assert session.take_handshake() is None
    assert session.counts()["opened"] == 0
    assert {each[5] for each in wire.datagrams()} <= {HELLO, COOKIE}
    assert all(len(each) == 80 for each in wire.datagrams())


@given(st.sampled_from([COOKIE, FIRST, SECOND, THIRD]), st.data())
def test_the_conductor_admits_nothing_of_a_stranger(kind, data):
    admitted = []
    made = Handshakes(host(TWO, 1, admitted))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    body = data.draw(st.binary(min_size=LENGTHS[kind] - 8, max_size=LENGTHS[kind] - 8))

    try:
        answer = made.on_datagram(b"AeSU" + bytes([1, kind, 0, 1]) + body, "10.0.0.9", 0)
    except HandshakeRefusedError:
        answer = None

    assert answer is None
    assert admitted == []
    assert made.agreements <= 1
