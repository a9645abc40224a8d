"""Numbers of the Archive control protocol: enumerations, versions and special values."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final

from aeron_core.protocol.archive.sbe import NULL_I32, FixedField

#: Version of the protocol, of which the major version must be that of the Archive. Source: AeronArchive.java.
PROTOCOL_VERSION: Final = 1 << 16 | 12 << 8
#: First version whose Archives have an id. Source: AeronArchive.java, AsyncConnect.
ARCHIVE_ID_VERSION: Final = 1 << 16 | 11 << 8
#: Stands for no id, position or limit. Source: Aeron.NULL_VALUE.
NULL_VALUE: Final = -1
REPLAY_ALL_AND_FOLLOW: Final = -1
"""Length of a replay that continues with what is recorded meanwhile."""
REPLAY_ALL_AND_STOP: Final = -2
"""Length of a replay that ends at the position that is recorded when it starts."""


class ControlResponseCode(IntEnum):
    """Outcome of a request."""

    OK = 0
    ERROR = 1
    RECORDING_UNKNOWN = 2
    SUBSCRIPTION_UNKNOWN = 3


class SourceLocation(IntEnum):
    """Origin of a stream to be recorded."""

    LOCAL = 0  # publications of the archive's own driver
    REMOTE = 1  # the channel, to which the archive subscribes


class RecordingSignal(IntEnum):
    """Event of a recording."""

    START = 0  # a new recording began
    STOP = 1  # it stopped, at the position
    EXTEND = 2  # it continues
    REPLICATE = 3  # the descriptor was copied from another archive
    MERGE = 4  # a replication joined the live stream
    SYNC = 5  # a replication has all that its source has
    DELETE = 6  # segments, or the whole recording
    REPLICATE_END = 7  # the replication is over, complete or not


ResponseCode = Annotated[ControlResponseCode, FixedField("i", NULL_I32, kind=ControlResponseCode)]
Location = Annotated[SourceLocation, FixedField("i", NULL_I32, kind=SourceLocation)]
Signal = Annotated[RecordingSignal, FixedField("i", NULL_I32, kind=RecordingSignal)]
