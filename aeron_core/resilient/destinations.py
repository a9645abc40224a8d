"""KeptDestinations of a publication or subscription (`control-mode=manual`), which are re-added with it.

The id that the program got from `add_destination` stays valid: it is translated to the current one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aeron_core.client.registrations import Registration, RegistrationState


class Destined(Protocol):
    """A plain publication or subscription."""

    @property
    def is_closed(self) -> bool:
        """Whether it is closed."""

    def add_destination_async(self, channel: str) -> Registration[int]:
        """Send the command that adds a destination."""


@dataclass(slots=True, eq=False)
class KeptDestination:
    """One destination, and the plain resource that has it."""

    channel: str
    parent: Destined
    current_id: int
    first: Registration[int]  # of the program's own command


class KeptDestinations:
    """The destinations of one resource, by the id that the program knows. Any thread may use it."""

    def __init__(self) -> None:
        self._by_id: dict[int, KeptDestination] = {}

    def add(self, channel: str, registration: Registration[int], parent: Destined) -> None:
        """Add a destination whose command was sent to `parent`."""
        known_id = registration.registration_id
        self._by_id[known_id] = KeptDestination(str(channel), parent, known_id, registration)

    def remove(self, channel: str) -> None:
        """Remove the destinations with that channel."""
        for known_id, destination in list(self._by_id.items()):
            if destination.channel == str(channel):
                self._by_id.pop(known_id, None)

    def remove_by_id(self, known_id: int) -> None:
        """Remove a destination; does nothing if there is none with that id."""
        self._by_id.pop(known_id, None)

    def id_in(self, parent: Destined, known_id: int) -> int | None:
        """Return the id of a destination of `parent` in the driver; None if it is not re-added to `parent` yet.

        It is `known_id` itself if there is no such destination.
        """
        destination = self._by_id.get(known_id)
        if destination is None:
            return known_id
        return destination.current_id if destination.parent is parent else None

    def missing(self, parent: Destined) -> list[KeptDestination]:
        """Return the destinations that `parent` lacks.

        Forgets those that were never added: the program has got the error of its command.
        """
        missing = []
        for known_id, destination in list(self._by_id.items()):
            if destination.parent is parent:
                continue
            if destination.first.state is RegistrationState.REGISTERED:
                missing.append(destination)
            else:
                self._by_id.pop(known_id, None)
        return missing

    def __contains__(self, destination: KeptDestination) -> bool:
        return any(other is destination for other in list(self._by_id.values()))
