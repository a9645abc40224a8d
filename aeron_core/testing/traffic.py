"""A sender that offers a list of messages, and a receiver that collects them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler

if TYPE_CHECKING:
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.subscriptions.header import Header
    from aeron_core.client.subscriptions.subscription import Subscription


def make_messages(count: int, *, seed: int, max_length: int) -> list[bytes]:
    """Return `count` distinct messages, most of them short; equal arguments give equal messages.

    Each is its number and a space, then random bytes: in all less than `max_length` bytes, if that is more than 8 and
    `count` at most ten million.
    """
    chance = random.Random(seed)
    return [
        f"{number} ".encode() + chance.randbytes(int(chance.random() ** 3 * max(max_length - 8, 0)))
        for number in range(count)
    ]


class Feed:
    """Feed of messages to a publication, as fast as it accepts them."""

    def __init__(self, publication: Publication | ExclusivePublication, messages: Sequence[bytes]) -> None:
        self.publication = publication
        self.messages = messages
        self.offered = 0
        self.last_result = 0

    @property
    def is_done(self) -> bool:
        """Whether all messages were accepted."""
        return self.offered == len(self.messages)

    def offer(self) -> int:
        """Offer until a message is not accepted or all are; return the number of accepted ones.

        `last_result` is then the last result of `offer`.
        """
        before = self.offered
        while not self.is_done:
            self.last_result = self.publication.offer(self.messages[self.offered])
            if self.last_result < 0:
                break
            self.offered += 1
        return self.offered - before


class Sink:
    """Sink of a subscription: its reassembled messages by session id, in `messages`."""

    def __init__(self, subscription: Subscription, *, fragment_limit: int = 64) -> None:
        self.subscription = subscription
        self.messages: defaultdict[int, list[bytes]] = defaultdict(list)
        self._fragment_limit = fragment_limit
        self._assembler = FragmentAssembler(self._take)

    def _take(self, message: memoryview, header: Header) -> None:
        self.messages[header.session_id].append(bytes(message))

    def poll(self) -> int:
        """Poll once; return the number of fragments."""
        return self.subscription.poll(self._assembler, self._fragment_limit)

    @property
    def all(self) -> list[bytes]:
        """The messages of all sessions, one session after the other."""
        return [message for messages in self.messages.values() for message in messages]
