import socket
from contextlib import ExitStack

import pytest

from aeron_core._native import wire
from aeron_core.driver.agents.polled_endpoints import PolledReceiveEndpoints, PolledSendEndpoints
from aeron_core.testing.parts import CountingReceiveEndpoint, CountingSendEndpoint, PolledEndpointsProbe

KINDS = {
    "send": (PolledSendEndpoints, CountingSendEndpoint),
    "receive": (PolledReceiveEndpoints, CountingReceiveEndpoint),
}


class Group:
    """Endpoints with one socket each, which a test can write to."""

    def __init__(self, kind, stack):
        polled, self._endpoint = KINDS[kind]
        self.probe = PolledEndpointsProbe(polled())
        self.endpoints = []
        self._sockets = []
        self._stack = stack

    def add(self, count, *, descriptor=None):
        for _ in range(count):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._sockets.append((self._stack.enter_context(ours), self._stack.enter_context(theirs)))
            endpoint = self._endpoint(ours.fileno() if descriptor is None else descriptor)
            self.endpoints.append(endpoint)
            self.probe.append(endpoint)

    def write_to(self, *indexes):
        for index in indexes:
            self._sockets[index][1].send(b"x")

    def read_from(self, index):
        self._sockets[index][0].recv(1)

    def polled(self):
        """Poll once; return which endpoints were, and how often."""
        before = [endpoint.polls for endpoint in self.endpoints]
        work = self.probe.poll()
        after = [endpoint.polls for endpoint in self.endpoints]
        assert work == sum(after) - sum(before)
        return {
            index: now - then
            for index, (now, then) in enumerate(zip(after, before, strict=True))
            if now > then
        }


@pytest.fixture(params=KINDS)
def group(request):
    with ExitStack() as stack:
        yield Group(request.param, stack)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_endpoints_are_all_polled(group, count):
    group.add(count)

    assert group.polled() == dict.fromkeys(range(count), 1)


def test_of_many_endpoints_only_those_with_data_are_polled(group):
    group.add(100)
    assert group.polled() == {}

    group.write_to(3, 41, 99)

    assert group.polled() == {3: 1, 41: 1, 99: 1}


def test_an_endpoint_is_polled_until_it_has_read_all_its_data(group):
    group.add(6)
    group.write_to(2, 2)

    group.read_from(2)
    assert group.polled() == {2: 1}
    group.read_from(2)
    assert group.polled() == {}


def test_all_ready_endpoints_are_polled_if_they_exceed_one_system_call(group):
    group.add(150)
    group.write_to(*range(150))

    found = set()
    for _ in range(3):
        found |= group.polled().keys()

    assert found == set(range(150))


def test_an_endpoint_without_a_descriptor_is_polled_every_time(group):
    group.add(6)
    group.add(2, descriptor=wire.NO_DESCRIPTOR)

    assert group.polled() == {6: 1, 7: 1}


def test_an_endpoint_whose_descriptor_cannot_be_watched_is_polled_every_time(group, tmp_path):
    group.add(6)
    with (tmp_path / "file").open("wb") as file:
        group.add(1, descriptor=file.fileno())

        assert group.polled() == {6: 1}


@pytest.mark.parametrize("left", [6, 5])
def test_a_removed_endpoint_is_not_polled(group, left):
    group.add(left + 1)
    group.write_to(*range(left + 1))

    assert group.probe.remove(group.endpoints[0]) == left

    assert group.polled() == dict.fromkeys(range(1, left + 1), 1)


def test_a_removed_endpoint_without_a_descriptor_is_not_polled(group):
    group.add(7)
    group.add(1, descriptor=wire.NO_DESCRIPTOR)

    group.probe.remove(group.endpoints[7])

    assert group.polled() == {}


def test_removing_an_unknown_endpoint_changes_nothing(group):
    group.add(6)
    group.write_to(1)
    group.probe.remove(group.endpoints[1])

    assert group.probe.remove(group.endpoints[1]) == 5
    assert group.polled() == {0: 1, 2: 1, 3: 1, 4: 1, 5: 1}


@pytest.mark.parametrize("count", [3, 10])
def test_an_endpoint_that_raises_does_not_keep_others_from_being_polled(group, count):
    group.add(count)
    group.write_to(*range(count))
    broken = group.endpoints[1]
    broken.is_broken = True

    for _ in range(3):
        with pytest.raises(RuntimeError, match="broken"):
            group.probe.poll()
        group.probe.poll()

    assert all(endpoint.polls == 3 for endpoint in group.endpoints)


def test_all_endpoints_are_polled_after_an_error_while_they_were_few(group):
    group.add(5, descriptor=wire.NO_DESCRIPTOR)
    broken = group.endpoints[3]
    broken.is_broken = True
    with pytest.raises(RuntimeError, match="broken"):
        group.probe.poll()
    broken.is_broken = False

    group.add(1, descriptor=wire.NO_DESCRIPTOR)

    assert group.polled() == dict.fromkeys(range(6), 1)


def test_all_endpoints_are_polled_after_an_error_while_they_were_many(group):
    group.add(6)
    group.add(2, descriptor=wire.NO_DESCRIPTOR)
    broken = group.endpoints[6]
    broken.is_broken = True
    with pytest.raises(RuntimeError, match="broken"):
        group.probe.poll()
    broken.is_broken = False

    for endpoint in group.endpoints[:3]:
        group.probe.remove(endpoint)

    assert group.polled() == dict.fromkeys(range(3, 8), 1)


def test_a_ready_endpoint_that_is_removed_is_not_polled(group):
    group.add(10)
    group.write_to(*range(10))
    for endpoint in group.endpoints:
        endpoint.is_broken = True
    with pytest.raises(RuntimeError):
        group.probe.poll()

    waiting = [endpoint for endpoint in group.endpoints if endpoint.polls == 0]
    for endpoint in waiting:
        group.probe.remove(endpoint)
    with pytest.raises(RuntimeError):
        group.probe.poll()

    assert [endpoint.polls for endpoint in waiting] == [0] * 9
