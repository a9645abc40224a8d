"""Confirmed position of a publication: the position up to which its messages need not be sent again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aeron_core.concurrent.counter_types import SENDER_POSITION

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.concurrent.counters import CountersReader

_REGISTRATION_ID_LENGTH: Final = 8


def confirmed_position(aeron: Aeron, publication: ExclusivePublication) -> Callable[[], int]:
    """Return a function that returns the confirmed position of a publication, in bytes.

    This is the driver's sender position: the acknowledged position for a medium with acknowledgements, else the sent
    position. Without a sender, as for IPC, it is the publication's own position.
    """
    found = _SenderPosition.find(aeron.counters_reader, publication)
    return (lambda: publication.position) if found is None else found.get


class _SenderPosition:
    """The sender position of a publication, read from its counter while the counter belongs to the publication.

    When a driver times a client out, for example one that was suspended, it may reuse the client's counters before the
    client detects the timeout.
    """

    def __init__(self, counters: CountersReader, counter_id: int, key: bytes) -> None:
        self._counters = counters
        self._id = counter_id
        self._key = key
        self._position = counters.value(counter_id)

    @classmethod
    def find(cls, counters: CountersReader, publication: ExclusivePublication) -> _SenderPosition | None:
        # Identify the counter by its key, which drivers of all versions write.
        key = publication.original_registration_id.to_bytes(_REGISTRATION_ID_LENGTH, "little", signed=True)
        for record in counters:
            if record.type_id == SENDER_POSITION and record.key.startswith(key):
                return cls(counters, record.id, key)
        return None

    def get(self) -> int:
        position = self._counters.value(self._id)
        # Check the key after reading the value: the driver clears the key before it reuses the counter, so an equal key
        # shows that the value is that of the publication.
        if self._counters.key(self._id).startswith(self._key):
            self._position = position
        return self._position
