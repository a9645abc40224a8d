"""Which peer of one side of a device goes with which of the other.

A tie is made by the first message of a peer that has none, with the peer of the other side that has the fewest, the one
that has been there longest among equals; and it is made in both directions unless that one has a tie already: its
messages go to whom it was tied first. A tie lasts as long as both live.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


class Ties:
    """By sessions, of sides 0 and 1."""

    def __init__(self) -> None:
        self._of_side: tuple[dict[int, int], dict[int, int]] = ({}, {})

    def choose(self, side: int, session: int, here: Collection[int], there: Sequence[int]) -> int | None:
        """Return the peer that a message of `session` goes to, of those that live there; None where nobody does.

        `here` are those that live on the side that the message comes from.
        """
        ties, back = self._of_side[side], self._of_side[1 - side]
        tied = ties.get(session)
        if tied is not None and tied in there:
            return tied
        for gone in [each for each in ties if each not in here]:
            del ties[gone]
        if not there:
            return None
        users = list(ties.values())
        chosen = min(there, key=users.count)
        ties[session] = chosen
        if back.get(chosen) not in here:
            back[chosen] = session
        return chosen
