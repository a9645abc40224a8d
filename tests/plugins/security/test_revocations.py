"""Revoked peers: receivers and senders that leave a list during a stream, and what the others notice of it."""

import pytest
from aeron_security.identities import IdentityProtector
from hosts import DYNAMIC, PRIVATE, SECURED, Load, value
from identities import IdentityPeer

from aeron_core.spi import ProtectedRole
from aeron_core.testing import SimulatedLink, SimulatedPeer
from aeron_core.testing.pair import MS, S

IDENTITY = "its identity is not in the list of peers, or has expired"


def start_group(start_pair, link=None, flow_control="min"):
    pair = start_pair(link=link)
    three = pair.add_driver("10.0.0.3").connect()
    publication = pair.add_publication(f"aeron:udp?{DYNAMIC}|fc={flow_control}", 1001)
    stays = pair.add_subscription(f"aeron:udp?endpoint=10.0.0.2:20001|{DYNAMIC}", 1001)
    leaves = pair.result(three.add_subscription_async(f"aeron:udp?endpoint=10.0.0.3:20001|{DYNAMIC}", 1001))
    pair.run_until(lambda: publication.is_connected and stays.is_connected and leaves.is_connected)
    return pair, publication, stays, leaves


@pytest.mark.parametrize("is_reached", [True, False])
def test_a_receiver_that_is_revoked_forges_nothing_at_the_others(
    start_pair, identities, monkeypatch, is_reached
):
    protectors = []

    def made(self, params):
        protectors.append((params.role, self))
        make(self, params)

    make = IdentityProtector.__init__
    monkeypatch.setattr(IdentityProtector, "__init__", made)
    pair, publication, stays, _ = start_group(start_pair, flow_control="max")
    load = Load(publication, stays)
    (sending,) = [each for role, each in protectors if role is ProtectedRole.PUBLICATION]
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(300 * MS, each=load.step)
    # The secret that the receiver was given, with which it seals what it has not received from the sender.
    prk, *_ = sending._session.grant()
    forger = IdentityPeer(PRIVATE["one"], 0, 1, [], prk=prk)
    forger.number = 1 << 20
    attacker = SimulatedPeer(pair.network, "10.0.0.3", 40000, ("10.0.0.2", 20001))
    identities.allow("one", "two")
    identities.allow("two", "one")
    if not is_reached:
        # The next secret is granted while the other receiver cannot be reached, and used before it can be.
        pair.network.partition("10.0.0.1", "10.0.0.2")
        pair.run_for(700 * MS, each=load.step)
        pair.network.heal("10.0.0.1", "10.0.0.2")
    pair.run_for(1 * S, each=load.step)

    unproved = value(pair.receiver, "refused-unproved")
    for _ in range(50):
        attacker.send(forger.seal(bytes(32)))
        load.step()
        pair.run_for(100 * MS)
    forger.rotate()
    attacker.send(forger.seal(bytes(32)))
    pair.run_for(100 * MS, each=load.step)
    pair.run_for(100 * MS, each=lambda: stays.poll(load._take, 50))

    assert value(pair.sender, "rekeys") == 1
    # The counter is set each 100 ms.
    assert 45 <= value(pair.receiver, "refused-unproved") - unproved <= 51
    assert load.arrived == load.offered > 50


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_receiver_that_is_revoked_during_a_stream_is_locked_out_and_the_other_loses_nothing(
    start_pair, identities, loss
):
    pair, publication, stays, leaves = start_group(start_pair, SimulatedLink(loss=loss))
    load, last = Load(publication, stays), []

    def step():
        load.step()
        leaves.poll(lambda buffer, _: last.append(int.from_bytes(buffer, "little")))

    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(500 * MS, each=step)
    assert last[-1] > 100
    identities.allow("one", "two")
    # The list is read each 250 ms; within 300 ms more, the other receiver has got the new key.
    pair.run_for(560 * MS, each=step)
    end = load.offered
    pair.network.log.clear()
    pair.run_for(2 * S, each=step)
    pair.run_until(lambda: load.step() >= end + 1000, within_ns=10 * S)
    pair.run_for(1200 * MS, each=step)

    assert max(last) <= end
    assert value(pair.sender, "rekeys") == 1
    assert pair.receiver.errors() == []


def test_a_revocation_of_one_receiver_does_not_delay_the_stream_to_the_other(start_pair, identities):
    # Without `fc=min`, for which the one that leaves limits the stream until its timeout.
    pair, publication, stays, leaves = start_group(start_pair, flow_control="max")
    load, delays = Load(publication, stays), []

    def step():
        before = load.offered
        load.step()
        leaves.poll(lambda *_: None)
        delays.append(before - load.arrived)

    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(500 * MS, each=step)
    refused = value(pair.receiver, "refused-unproved")
    usual = max(delays)
    identities.allow("one", "two")
    delays.clear()
    pair.run_for(1200 * MS, each=step)

    assert value(pair.sender, "rekeys") == 1
    assert load.arrived > 1500
    assert max(delays) <= usual
    # Each datagram could be opened when it arrived.
    assert value(pair.receiver, "refused-unproved") == refused


def test_a_second_revocation_soon_after_the_first_one_locks_both_receivers_out(start_pair, identities):
    pair, publication, stays, leaves = start_group(start_pair)
    load, last = Load(publication, stays), []

    def step():
        load.step()
        leaves.poll(lambda buffer, _: last.append(int.from_bytes(buffer, "little")))

    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    identities.allow("one", "two")
    pair.run_for(260 * MS, each=step)
    identities.allow("one")
    # 250 ms until the list is read, 300 ms in which the new key is granted, and 300 ms for that of the second one.
    pair.run_for(860 * MS, each=step)
    end = load.offered
    pair.run_for(2 * S, each=step)

    assert max(last) <= end
    assert load.arrived <= end
    assert value(pair.sender, "rekeys") >= 1


def test_a_sender_that_is_revoked_during_a_stream_is_not_received(start_pair, identities):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    load = Load(publication, subscription)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(100 * MS, each=load.step)

    identities.allow("two", "three")
    pair.run_for(300 * MS, each=load.step)
    arrived = load.arrived
    pair.run_for(2 * S, each=load.step)

    assert arrived > 0
    assert load.arrived == arrived
    assert value(pair.receiver, "rekeys") == 1
    assert any(IDENTITY in record.text for record in pair.receiver.errors())

    # Allowed again, it continues.
    identities.allow("two", "one", "three")
    pair.run_until(lambda: load.step() > arrived, within_ns=20 * S)


def test_an_entry_that_expires_is_a_revocation(start_pair, identities):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    identities.allow("two", "one", until_ms=pair.clock.epoch_ms() + 2000)
    load = Load(publication, subscription)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS

    pair.run_for(1500 * MS, each=load.step)
    before = load.arrived
    pair.run_for(800 * MS, each=load.step)
    after = load.arrived
    pair.run_for(2 * S, each=load.step)

    assert 0 < before < after == load.arrived
    assert value(pair.receiver, "rekeys") == 1
