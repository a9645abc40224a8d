"""The request for a new image: a SETUP that the receiver passed on, and the subscription that it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native import wire
from aeron_core.concurrent.counter_types import CounterOwner
from aeron_core.frozen import frozen
from aeron_core.uri.defaults import Inferable

if TYPE_CHECKING:
    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry
    from aeron_core.protocol.frames.setup import Setup


@frozen()
class ImageRequest:
    """Inputs for the creation of an image; `subscription` is the first one that is linked to it."""

    correlation_id: int
    endpoint: ReceiveEndpointEntry
    subscription: SubscriptionEntry
    setup: Setup
    source: str  # address of the sender, usually `host:port`

    @property
    def owner(self) -> CounterOwner:
        """Owner of the image's counters: its ids, and the channel and client of `subscription`."""
        return CounterOwner(
            self.correlation_id,
            self.setup.session_id,
            self.setup.stream_id,
            self.subscription.channel,
            self.subscription.client_id,
        )

    @property
    def is_group(self) -> bool:
        """Whether the image is treated as one of a multicast group: it delays its NAKs at random.

        Source: aeron_driver_conductor.c, aeron_driver_conductor_treat_image_as_multicast.
        """
        # A group delays its NAKs at random, so that one loss does not make every receiver send one. A
        # unicast sender can ask for that with a flag, because multi-destination streams also have several
        # receivers.
        if self.subscription.params.group is Inferable.INFER:
            return self.endpoint.channel.is_multicast or bool(self.setup.flags & wire.SETUP_FLAG_GROUP)
        return self.subscription.params.group is Inferable.TRUE

    @property
    def requests_response(self) -> bool:
        """Whether the sender asks for a response channel."""
        return bool(self.setup.flags & wire.SETUP_FLAG_SEND_RESPONSE)
