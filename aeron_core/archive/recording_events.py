"""Progress of all recordings of an archive, which it publishes if `aeron.archive.recording.events.enabled` is set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.protocol.archive.responses import (
    RecordingProgress,
    RecordingStarted,
    RecordingStopped,
    decode_event,
)

if TYPE_CHECKING:
    from aeron_core.client.subscriptions.header import Header
    from aeron_core.client.subscriptions.subscription import Subscription

RecordingEvent = RecordingStarted | RecordingProgress | RecordingStopped

# Source: AeronArchive.java.
RECORDING_EVENTS_CHANNEL: Final = "aeron:udp?control-mode=dynamic|control=localhost:8030"
"""Channel of the events by default; a subscription needs an `endpoint` as well."""
RECORDING_EVENTS_STREAM_ID: Final = 30
"""Stream id of the events by default."""


class RecordingEvents:
    """Decodes the events of a subscription, which the program adds and closes; one thread uses it.

    The stream of the archive is `RECORDING_EVENTS_STREAM_ID` on `RECORDING_EVENTS_CHANNEL` by default. Events may be
    lost: the archive does not wait for slow subscribers.
    """

    def __init__(self, subscription: Subscription, handler: Callable[[RecordingEvent], object]) -> None:
        self._subscription = subscription
        self._handler = handler
        self._assembler = FragmentAssembler(self._on_message)

    def poll(self, fragment_limit: int = 10) -> int:
        """Call the handler for the events that have arrived and return the number of fragments.

        Raises ProtocolError for a message that cannot be used.
        """
        return self._subscription.poll(self._assembler, fragment_limit)

    def _on_message(self, buffer: memoryview, _: Header) -> None:
        event = decode_event(buffer)
        if event is not None:
            self._handler(event)
