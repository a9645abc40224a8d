"""Hosts with identities: streams between them, and one side of their handshakes."""

import os

from aeron_security.handshakes import Grant, Host
from aeron_security.noise import public_key_of

from aeron_core.testing import DriverPair
from aeron_core.testing.pair import MS, S

#: Private keys of hosts, by name.
PRIVATE = {name: bytes([number]) * 32 for number, name in enumerate(("one", "two", "three", "stranger"), 1)}

SECURED = "aeron:udp?endpoint=10.0.0.2:20121|security=orders"
MULTICAST = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1|security=orders"
DYNAMIC = "control=10.0.0.1:20000|control-mode=dynamic|security=orders"


def host(private, role, admitted):
    """Return a host whose secret is 32 zeros; what its peers grant is appended to `admitted`."""
    return Host(
        private_key=private,
        public_key=public_key_of(private),
        cipher=1,
        role=role,
        grant=lambda: Grant(bytes(32), 7),
        admit=lambda peer, grant, _: admitted.append((peer.name, grant.secret, grant.number)),
        fresh=lambda: os.urandom(8),
    )


class HostPair(DriverPair):
    """A pair of drivers whose hosts have identities: `one` on 10.0.0.1, `two` on 10.0.0.2, `three` on 10.0.0.3."""

    def __init__(self, directory, profiles_of, **settings):
        self._profiles_of = profiles_of
        super().__init__(directory, **settings)
        # Waits for timers, such as those of handshakes, take few rounds.
        self.long_idle_step_ns = 10 * MS

    def add_driver(self, *addresses, **settings):
        name = {"10.0.0.1": "one", "10.0.0.2": "two"}.get(addresses[0], "three")
        settings.setdefault("event_log_filename", str(self._directory / f"{name}.events"))
        return super().add_driver(*addresses, security_profiles=self._profiles_of[name], **settings)


def messages_of(count, length=500):
    return [os.urandom(8) + number.to_bytes(4, "little") * (length // 4 - 2) for number in range(count)]


def flow(simulation, publication, subscriptions, messages):
    """Send messages; assert that each subscription gets all of them in order."""
    received = [bytearray() for _ in subscriptions]
    waiting, length = list(messages), sum(map(len, messages))

    def step():
        while waiting and publication.offer(waiting[0]) > 0:
            waiting.pop(0)
        for into, subscription in zip(received, subscriptions, strict=True):
            subscription.poll(lambda buffer, _, into=into: into.extend(buffer))
        return all(len(each) >= length for each in received)

    simulation.run_until(
        lambda: publication.is_connected and all(each.is_connected for each in subscriptions)
    )
    simulation.run_until(step, within_ns=60 * S)
    assert all(each == b"".join(messages) for each in received)


def value(driver, name):
    return driver.find_counter(f"security-{name}: ").value


class Load:
    """A message each round; `step` returns the number that has arrived at the first subscription, in order and once."""

    def __init__(self, publication, subscription):
        self._publication, self._subscription = publication, subscription
        self.offered = self.arrived = 0

    def step(self):
        if self._publication.offer(self.offered.to_bytes(8, "little")) > 0:
            self.offered += 1
        self._subscription.poll(self._take, 50)
        return self.arrived

    def _take(self, buffer, _):
        assert int.from_bytes(buffer, "little") == self.arrived
        self.arrived += 1
