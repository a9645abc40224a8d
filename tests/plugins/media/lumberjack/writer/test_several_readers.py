"""Publications with several readers: one at a time, or all at once."""

from __future__ import annotations

import pytest
from plain_codec import ack
from writing import payloads, windows

from aeron_core._native.address import SocketAddress
from aeron_core.errors import RegistrationError
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing.pair import MS, S, Simulation

A, B, C = (SocketAddress.of(f"10.0.0.{n}", 5044) for n in (1, 2, 3))
EVENTS = [b'{"n":%d}' % number for number in range(40)]


class Names:
    """A plugin with a resolver that returns the current addresses."""

    def __init__(self):
        self.hosts = {"a": "10.0.0.1", "b": "10.0.0.2"}

    def lookup(self, name, uri_key, is_re_lookup):
        return name

    def resolve(self, host, uri_key, is_re_resolution):
        return self.hosts.get(host)

    @hookimpl
    def aeron_name_resolvers(self):
        return {"names": lambda params: self}


class Readers(Simulation):
    """A driver with a publication, and readers controlled by a test."""

    def __init__(self, directory):
        self.names = Names()
        super().__init__(directory, plugins=[self.names])
        self.driver = self.add_driver(name_resolver="names")
        self.client = self.driver.connect()
        self.listeners = {}
        self.readers = {}
        self.accepted = []

    def serve(self, *addresses):
        for address in addresses:
            self.listeners[address] = self.connections.serve(address)

    def publish(self, endpoint, keys=""):
        channel = f"aeron:lumberjack?endpoint={endpoint}{keys}"
        self.publication = self.result(self.client.add_exclusive_publication_async(channel, 7))

    def run(self, duration_ns=50 * MS):
        self.idle_step_ns = 1 * MS if duration_ns <= 1 * S else 20 * MS
        self.run_for(duration_ns, self.accept)

    def accept(self):
        for address, listener in self.listeners.items():
            if (taken := listener.accept()) is not None:
                self.readers[address] = taken[0]
                taken[0].capacity = 1 << 24
                self.accepted.append(address)

    def lose(self, address, *, for_good=True):
        if for_good:
            self.listeners.pop(address).close()
        self.readers.pop(address).close(aborts=True)

    def offer(self, *events):
        for event in events:
            self.run_until(lambda event=event: self.publication.offer(event) >= 0)

    def received_windows(self, address):
        self.run()
        return windows(self.readers[address].received())

    def answer(self, address, *found):
        self.readers[address].send(b"".join(ack(len(window)) for window in found))
        self.run()

    def unacknowledged(self):
        (sender,) = self.driver.find_counters("snd-pos")
        return self.publication.position - sender.value

    def counted(self, name):
        return self.driver.find_counter(f"lumberjack-writer-{name}:").value

    def errors(self):
        return [record.text for record in self.driver.errors()]


@pytest.fixture
def readers(tmp_path):
    with Readers(tmp_path) as made:
        yield made


BOTH = f"{A},{B}"


# One at a time


def test_the_first_reader_is_used_while_it_is_connected(readers):
    readers.serve(A, B)
    readers.publish(BOTH)
    readers.run(1 * S)
    assert readers.accepted == [A]


def test_a_reader_that_refuses_is_skipped_at_once(readers):
    readers.serve(B)
    readers.publish(BOTH)
    readers.run(10 * MS)
    assert readers.accepted == [B]


def test_unacknowledged_events_of_a_lost_reader_go_to_the_next(readers):
    readers.serve(A, B)
    readers.publish(BOTH, "|window=2|pipeline=8")
    readers.run()
    readers.offer(*EVENTS[:4])
    first = readers.received_windows(A)
    readers.answer(A, first[0])
    readers.lose(A)
    readers.run(10 * MS)
    assert payloads(readers.received_windows(B)) == EVENTS[len(first[0]) : 4]
    assert readers.counted("lost") == 1


def test_the_backoff_begins_after_all_readers_were_tried(readers):
    readers.publish(f"{A},{B},{C}", "|backoff-init=10s")
    readers.run(100 * MS)
    assert readers.counted("attempts") == 3
    readers.run(4 * S)
    assert readers.counted("attempts") == 3
    readers.run(7 * S)
    assert readers.counted("attempts") == 6


def test_readers_that_never_acknowledge_are_tried_with_backoff(readers):
    readers.serve(A, B)
    readers.publish(BOTH, "|backoff-init=10s")
    for _ in range(20):
        readers.run(10 * MS)
        for address in list(readers.readers):
            readers.lose(address, for_good=False)
    assert readers.accepted == [A, B]


def test_after_its_ttl_a_connection_is_replaced_by_one_to_the_next_reader(readers):
    readers.serve(A, B)
    readers.publish(BOTH, "|ttl=10s")
    for _ in range(3):
        readers.run(10 * S + 100 * MS)
    assert readers.accepted == [A, B, A, B]
    assert readers.counted("lost") == 0


# All at once


def balanced(readers, keys="|window=1"):
    readers.serve(A, B)
    readers.publish(BOTH, f"|balance=true{keys}")
    readers.run()
    assert readers.accepted == [A, B]


def test_windows_are_distributed_over_all_readers(readers):
    balanced(readers)
    readers.offer(*EVENTS[:4])
    assert payloads(readers.received_windows(A)) == EVENTS[0:4:2]
    assert payloads(readers.received_windows(B)) == EVENTS[1:4:2]


def test_the_confirmed_position_advances_only_without_gaps(readers):
    balanced(readers)
    readers.offer(*EVENTS[:4])
    to_a, to_b = readers.received_windows(A), readers.received_windows(B)
    readers.answer(B, *to_b)
    assert readers.unacknowledged() == 4 * 64
    readers.answer(A, to_a[0])
    assert readers.unacknowledged() == 2 * 64
    readers.answer(A, to_a[1])
    assert readers.unacknowledged() == 0


def test_a_slow_reader_leaves_windows_to_the_other(readers):
    balanced(readers)
    readers.offer(*EVENTS)
    to_b = []
    while found := readers.received_windows(B):
        readers.answer(B, *found)
        to_b += payloads(found)
    assert payloads(readers.received_windows(A)) == [each for each in EVENTS if each not in to_b]
    assert len(to_b) == len(EVENTS) - 2


def test_the_windows_of_a_lost_connection_go_to_another(readers):
    balanced(readers)
    readers.offer(*EVENTS[:4])
    to_b = readers.received_windows(B)
    readers.answer(B, *to_b)
    readers.lose(A)
    again = readers.received_windows(B)
    assert payloads(again) == EVENTS[0:4:2]
    readers.answer(B, *again)
    assert readers.unacknowledged() == 0
    assert readers.counted("resends") == 2


def test_a_resent_window_is_no_longer_than_before(readers):
    # The part after it can already be acknowledged.
    balanced(readers, "|window=2|pipeline=1")
    readers.driver.is_stalled = True
    readers.offer(*EVENTS[:4])
    readers.driver.is_stalled = False
    to_a, to_b = readers.received_windows(A), readers.received_windows(B)
    assert (payloads(to_a), payloads(to_b)) == (EVENTS[:2], EVENTS[2:4])
    readers.answer(B, *to_b)
    readers.lose(A)
    assert payloads(readers.received_windows(B)) == EVENTS[:2]


def test_a_lost_balanced_reader_has_its_own_backoff(readers):
    balanced(readers)
    readers.lose(A, for_good=False)
    readers.run(2 * S)
    assert readers.accepted == [A, B, A]
    assert readers.counted("connected") == 2


def test_every_event_reaches_a_reader_despite_losses(readers):
    balanced(readers, "|window=3|pipeline=4|backoff-init=10ms|backoff-max=10ms")
    came = set()
    for turn in range(200):
        if turn < len(EVENTS):
            readers.offer(EVENTS[turn])
        for address in (A, B):
            if address not in readers.readers:
                continue
            found = windows(readers.readers[address].received())
            came.update(payloads(found))
            if (turn % 7 == 3 and address == A) or (turn % 11 == 5 and address == B):
                readers.lose(address, for_good=False)
            elif found:
                readers.answer(address, *found)
        readers.run(5 * MS)
        if turn > len(EVENTS) and readers.unacknowledged() == 0:
            break
    assert readers.unacknowledged() == 0
    assert came == set(EVENTS)


def test_one_reader_can_have_several_connections(readers):
    readers.serve(A)
    readers.publish(f"{A},{A}", "|balance=true|window=1")
    readers.run()
    assert readers.accepted == [A, A]


# Names


def test_the_name_of_each_lost_reader_is_resolved_again(readers):
    readers.serve(A, B)
    readers.publish("a:5044,b:5044")
    readers.run()
    assert readers.accepted == [A]
    readers.names.hosts["a"] = "10.0.0.3"
    readers.serve(C)
    readers.lose(A)
    readers.run(3 * S)
    readers.lose(B)
    readers.run(3 * S)
    assert readers.accepted == [A, B, C]
    assert readers.driver.counted("resolution_changes") == 1


def test_the_name_of_a_single_reader_is_resolved_again(readers):
    readers.serve(A)
    readers.publish("a:5044")
    readers.run()
    readers.names.hosts["a"] = "10.0.0.3"
    readers.serve(C)
    readers.lose(A)
    readers.run(10 * S)
    assert readers.accepted == [A, C]


def test_a_name_is_resolved_again_before_its_connection_expires(readers):
    readers.serve(A, C)
    readers.publish("a:5044", "|ttl=10s")
    readers.run()
    readers.names.hosts["a"] = "10.0.0.3"
    readers.run(11 * S)
    assert readers.accepted == [A, C]


def test_an_unresolved_name_does_not_prevent_use_of_the_others(readers):
    readers.serve(B)
    del readers.names.hosts["a"]
    readers.publish("a:5044,b:5044", "|balance=true")
    readers.run()
    readers.run(3 * S)
    assert readers.accepted == [B]
    readers.names.hosts["a"] = "10.0.0.1"
    readers.serve(A)
    readers.run(10 * S)
    assert readers.accepted == [B, A]
    assert any("unknown host 'a'" in error for error in readers.errors())


def test_a_list_without_any_known_name_is_refused(readers):
    readers.names.hosts.clear()
    with pytest.raises(RegistrationError, match="unknown host"):
        readers.publish("a:5044,b:5044")


# URI parameters


def test_publications_with_other_parameters_do_not_share_an_endpoint(readers):
    readers.serve(A)
    readers.publish(str(A), "|compression=0")
    readers.publish(str(A))
    readers.run()
    assert len(readers.driver.find_counters("snd-channel")) == 2
    readers.publish(str(A))
    assert len(readers.driver.find_counters("snd-channel")) == 2


@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        ("a:5044,,b:5044", "endpoint=a:5044,,b:5044 in .*must be host:port"),
        ("a:5044,b", "must be host:port"),
        (",".join(["a:5044"] * 65), "endpoint=a:5044,.*: must have at most 64 addresses, has 65"),
    ],
)
def test_a_list_of_readers_is_checked(readers, endpoint, text):
    with pytest.raises(RegistrationError, match=text):
        readers.publish(endpoint)


def test_a_subscription_has_one_address(readers):
    with pytest.raises(RegistrationError, match="listens on one address"):
        readers.result(readers.client.add_subscription_async(f"aeron:lumberjack?endpoint={BOTH}", 7))
