"""What the appenders return when nothing was appended; every other result is the new position of the stream.

Source: aeronc.h, AERON_PUBLICATION_NOT_CONNECTED and its neighbours.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import peers, wire

NOT_CONNECTED: Final = wire.RESULT_NOT_CONNECTED
"""Nobody receives the stream."""

BACK_PRESSURED: Final = wire.RESULT_BACK_PRESSURED
"""The receivers, or the term that must be cleaned first, leave no room: offer again later."""

ADMIN_ACTION: Final = wire.RESULT_ADMIN_ACTION
"""The log is turning to its next term: offer again at once."""

CLOSED: Final = wire.RESULT_CLOSED
"""The publication is closed."""

MAX_POSITION_EXCEEDED: Final = wire.RESULT_MAX_POSITION_EXCEEDED
"""The stream has no positions left: add a new publication."""

NO_PEER: Final = peers.RESULT_NO_PEER
"""The peer that the message names is not connected."""

PEER_FULL: Final = peers.RESULT_PEER_FULL
"""The queue of the peer that the message names may have no room for it: offer again later."""

ERROR: Final = wire.RESULT_ERROR
"""The message is longer than allowed, or a block does not fit the stream."""
