"""The senders of a driver as the conductor uses them, and the choice of one for each send endpoint.

All streams of an endpoint belong to one sender, since only one thread may use its sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.datagrams import ReceiveBatch, SendBatch
from aeron_core.driver.conductor.agent_proxy import AgentProxy
from aeron_core.driver.sender.control_frames import HeartbeatBunch
from aeron_core.driver.sender.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aeron_core.driver.agents.data_agent import AgentParams
    from aeron_core.driver.agents.system_counters import SystemCounters


class SenderLink:
    """One sender: its agent, the rings to and from it, and the batches that its publications and endpoints share.

    Used by the conductor; the batches only by the sender, for one publication or endpoint at a time. `feedback_length`:
    datagrams of one receive call, at least 1.
    """

    def __init__(
        self, number: int, params: AgentParams, counters: SystemCounters, feedback_length: int
    ) -> None:
        self.commands = params.commands
        self.events = params.conductor
        self.proxy = AgentProxy(params.commands, counters.sender_proxy_fails)
        self.send_batch = SendBatch()
        self.heartbeats = HeartbeatBunch(counters.short_sends)
        self.feedback_batch = ReceiveBatch(feedback_length)
        self.agent = Sender(params, self.heartbeats, self.feedback_batch, number)
        self.endpoint_count = 0


class Senders:
    """The senders of a driver, at least one. Used by the conductor only."""

    def __init__(self, links: Iterable[SenderLink]) -> None:
        self._links = tuple(links)
        #: The sender of each endpoint, by canonical form.
        self._taken: dict[str, list[SenderLink]] = {}

    def __iter__(self) -> Iterator[SenderLink]:
        return iter(self._links)

    @property
    def first(self) -> SenderLink:
        """The sender of all IPC publications."""
        return self._links[0]

    @property
    def has_waiting(self) -> bool:
        """Whether a command waits for space in a ring."""
        return any(link.proxy.has_waiting for link in self._links)

    def take(self, form: str) -> SenderLink:
        """Return the sender of a new endpoint with the canonical form `form`: that with the fewest endpoints.

        Endpoints that differ only in their tags get the same one, because media may share a connection between them;
        so does an endpoint while an earlier one is being closed. Call `give_back` when the sender has released it.
        """
        taken = self._taken.setdefault(form, [])
        taken.append(taken[0] if taken else min(self._links, key=lambda link: link.endpoint_count))
        taken[0].endpoint_count += 1
        return taken[0]

    def give_back(self, form: str) -> None:
        """Forget an endpoint that the sender has released."""
        taken = self._taken[form]
        taken.pop().endpoint_count -= 1
        if not taken:
            del self._taken[form]
