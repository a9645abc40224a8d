"""Who uses a publication: several clients share a concurrent one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_core.driver.conductor.publications.publication_lifecycle import PublicationLifecycle


@dataclass(frozen=True)
class PublicationLink:
    """One client's use of a publication; `registration_id` is the client's own."""

    registration_id: int
    client_id: int
    lifecycle: PublicationLifecycle
