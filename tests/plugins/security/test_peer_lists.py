"""Lists of peers that the endpoints of a driver share."""

import os

import pytest
from aeron_security import peer_lists
from aeron_security.identities import IdentityProtector
from hosts import PRIVATE
from identities import public

from aeron_core._native.clock import Clock
from aeron_core.errors import ConfigurationError
from aeron_core.spi import ProtectedRole, ProtectorParams
from aeron_core.testing.pair import MS, S

ONE, THREE = public(PRIVATE["one"]), public(PRIVATE["three"])


class Endpoints:
    """Protectors of one driver: subscriptions of "two", which allows "one"."""

    def __init__(self, identities, count, clock=None):
        self.clock = Clock.manual() if clock is None else clock
        profile = identities.profiles("two", "one")["orders"]
        self._options = {name: text for name, text in profile.items() if name != "protector"}
        self.protectors = [self.add() for _ in range(count)]

    def add(self):
        role = ProtectedRole.SUBSCRIPTION
        return IdentityProtector(
            ProtectorParams(profile="orders", options=self._options, role=role, clock=self.clock)
        )

    def run(self, duration_ns):
        for _ in range(duration_ns // MS):
            self.clock.advance(MS)
            for each in self.protectors:
                each.do_work(self.clock.nano_time())

    def allowed(self):
        return [set(each._peers) for each in self.protectors]


def test_a_list_is_looked_at_four_times_a_second_for_all_endpoints(identities, monkeypatch):
    endpoints = Endpoints(identities, 20)
    looks = []
    monkeypatch.setattr(
        peer_lists.os,
        "stat",
        lambda path, stat=os.stat, **options: looks.append(path) or stat(path, **options),
    )

    endpoints.run(1 * S)

    assert len(looks) == 4


def test_a_change_reaches_all_endpoints(identities):
    endpoints = Endpoints(identities, 3)

    identities.allow("two", "three")
    endpoints.run(251 * MS)

    assert endpoints.allowed() == [{THREE}] * 3


def test_drivers_do_not_share_a_list(identities):
    first, second = Endpoints(identities, 1), Endpoints(identities, 1)

    identities.allow("two", "three")
    first.run(251 * MS)

    assert first.allowed() == [{THREE}]
    assert second.allowed() == [{ONE}]


def test_a_list_is_read_at_once_for_a_new_endpoint(identities):
    endpoints = Endpoints(identities, 1)
    endpoints.run(1 * MS)

    identities.allow("two", "three")
    endpoints.protectors.append(endpoints.add())
    endpoints.run(1 * MS)

    assert endpoints.allowed() == [{THREE}] * 2


def test_a_new_endpoint_is_refused_while_the_list_cannot_be_read_and_the_others_report_it(
    identities, tmp_path
):
    endpoints = Endpoints(identities, 2)
    (tmp_path / "two.peers").write_text("one 1234\n", encoding="ascii")

    for _ in range(2):
        with pytest.raises(ConfigurationError, match="line 1"):
            endpoints.add()
    endpoints.run(1 * S)

    faults = [each.take_fault() for each in endpoints.protectors]
    assert all("kept the list of peers as it was" in fault.reason for fault in faults)
    assert [each.take_fault() for each in endpoints.protectors] == [None, None]
    assert endpoints.allowed() == [{ONE}] * 2


def test_an_entry_expires_at_all_endpoints_and_returns_when_the_time_is_set_back(identities):
    endpoints = Endpoints(identities, 2)
    identities.allow("two", "one", until_ms=endpoints.clock.epoch_ms() + 1000)
    endpoints.run(750 * MS)
    assert endpoints.allowed() == [{ONE}] * 2

    endpoints.run(501 * MS)
    assert endpoints.allowed() == [set()] * 2

    endpoints.clock.step(-10 * S)
    endpoints.run(251 * MS)
    assert endpoints.allowed() == [{ONE}] * 2


def test_a_list_that_no_endpoint_uses_is_not_kept(identities):
    endpoints = Endpoints(identities, 2)
    assert [path for number, path in peer_lists._shared if number == id(endpoints.clock)]

    for each in endpoints.protectors:
        each.close()

    assert not [path for number, path in peer_lists._shared if number == id(endpoints.clock)]
