"""A client that survives a restart of its driver, and a timeout of itself.

    with aeron_core.resilient.connect(on_event=print) as aeron: ...

It re-adds publications, subscriptions and counters, and reports by events what was lost and where the gaps are.
"""

from aeron_core.resilient.aeron import ResilientAeron
from aeron_core.resilient.connecting import connect
from aeron_core.resilient.counter import ResilientCounter
from aeron_core.resilient.events import (
    CounterRestored,
    Disconnected,
    Event,
    GaveUp,
    ImageRestored,
    PublicationPosition,
    PublicationRestored,
    Reconnected,
    ReconnectFailed,
    Restored,
    RestoreFailed,
    SubscriptionRestored,
    log_event,
)
from aeron_core.resilient.peer_watch import ResilientPeerWatch
from aeron_core.resilient.policy import ReconnectPolicy
from aeron_core.resilient.publications import ResilientExclusivePublication, ResilientPublication
from aeron_core.resilient.registration import ResilientRegistration
from aeron_core.resilient.subscription import ImagePosition, ResilientSubscription

__all__ = [
    "CounterRestored",
    "Disconnected",
    "Event",
    "GaveUp",
    "ImagePosition",
    "ImageRestored",
    "PublicationPosition",
    "PublicationRestored",
    "ReconnectFailed",
    "ReconnectPolicy",
    "Reconnected",
    "ResilientAeron",
    "ResilientCounter",
    "ResilientExclusivePublication",
    "ResilientPeerWatch",
    "ResilientPublication",
    "ResilientRegistration",
    "ResilientSubscription",
    "RestoreFailed",
    "Restored",
    "SubscriptionRestored",
    "connect",
    "log_event",
]
