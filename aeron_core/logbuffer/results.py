"""Results of the appenders if nothing was appended; every other result is the new position of the stream.

Source: aeronc.h, AERON_PUBLICATION_NOT_CONNECTED and its neighbours.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import peers, wire

NOT_CONNECTED: Final = wire.RESULT_NOT_CONNECTED
"""No subscriber is connected to the stream."""

BACK_PRESSURED: Final = wire.RESULT_BACK_PRESSURED
"""The limit is reached: receivers, or the cleaning of the next term, are behind. Retry later."""

ADMIN_ACTION: Final = wire.RESULT_ADMIN_ACTION
"""The log is being rotated to its next term. Retry at once."""

CLOSED: Final = wire.RESULT_CLOSED
"""The publication is closed."""

MAX_POSITION_EXCEEDED: Final = wire.RESULT_MAX_POSITION_EXCEEDED
"""The range of positions is exhausted: add a new publication."""

NO_PEER: Final = peers.RESULT_NO_PEER
"""The destination peer of the message is not connected."""

PEER_FULL: Final = peers.RESULT_PEER_FULL
"""The queue of the message's destination peer may be too full for it. Retry later."""

ERROR: Final = wire.RESULT_ERROR
"""The message is longer than allowed, or a block does not fit the stream."""
