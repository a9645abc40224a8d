"""Our client and the Java client in exchangeable roles."""

from __future__ import annotations

import pytest
from java_client import JavaPublication, JavaSubscription
from messages import expected_checksum
from our_client import OurPublication, OurSubscription

#: The direction of a row.
THERE = "{sender} → {receiver}"
#: A client at a driver sends to one at another driver; one of the drivers is ours.
DIRECTIONS = pytest.mark.parametrize(
    ("sender", "receiver"),
    [
        ("java/java", "ours/ours"),
        ("java/java", "java/ours"),
        ("ours/ours", "java/java"),
        ("java/ours", "java/java"),
    ],
)

Publication = JavaPublication | OurPublication
Subscription = JavaSubscription | OurSubscription


def exchange(publication: Publication, *subscriptions: Subscription, count: int = 20_000) -> None:
    """Send messages; every subscription must receive all of them."""
    receiving = [subscription.receive(count) for subscription in subscriptions]
    assert publication.send(count).result(120) == str(count)
    expected = expected_checksum(count)
    assert [received.result(120) for received in receiving] == [expected] * len(receiving)
