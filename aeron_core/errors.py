"""Exceptions: one tree for the core and its plugins, so that `except AeronError` catches all of them.

    AeronError
    ├── ConfigurationError(ValueError)     a setting, argument, file or environment variable is wrong
    │   ├── ChannelUriError                a channel URI is wrong
    │   └── TlsFileError                   a certificate or key named by a channel URI is unusable (aeron_media)
    ├── PluginError                        a plugin is missing, broken, or clashes with another
    ├── ProtocolError(ValueError)          bytes of a message or a shared file were rejected
    │   └── HandshakeRefusedError          a datagram of a handshake was refused; stays inside aeron_security
    ├── SessionError                       a TLS or WebSocket session cannot continue (aeron_media)
    ├── CncError                           cnc.dat, the file that driver and clients share, cannot be used
    │   ├── CncNotReadyError               no driver is running yet, or it is still starting: retry
    │   └── CncIncompatibleError           another version or damaged: a retry does not help
    ├── DriverError                        the media driver could not start or cannot continue
    │   ├── ActiveDriverError              another driver is running in the directory
    │   └── StorageError(OSError)          a file could not be created or mapped: /dev/shm is too small, ...
    ├── CommandRefusedError                a command of a client was refused; stays inside the conductor
    ├── NameNeedsHelperError               a name cannot be resolved at once; stays inside the conductor
    ├── RecordingError                     a recording could not be written or read
    │   ├── RecordingNotFoundError         the archive or the recording does not exist
    │   ├── CorruptRecordingError(ValueError)  a file of the archive is damaged or missing
    │   ├── DataLossError                  the requested positions were purged or never recorded
    │   └── ArchiveInUseError              another recorder is writing to the archive
    ├── PipelineError                      a Spark pipeline could not start, or a query failed (pyspark_aeron)
    └── ClientError                        a client operation failed
        ├── DriverTimeoutError(TimeoutError)   no driver is running, or it did not respond in time
        ├── ClientTimeoutError(TimeoutError)   the driver timed this client out, or may have done so
        ├── NotConnectedError(TimeoutError)    no peer was connected in time, or that of a message is not connected
        ├── SendTimeoutError(TimeoutError)     a message was not accepted in time: back pressure
        ├── MaxPositionExceededError       a stream has no positions left: add a new publication
        ├── RegistrationError              the driver refused a command; has its error code
        ├── ArchiveRefusedError            an Aeron Archive refused a request; has its error code
        │   └── ArchiveAuthenticationError     it refused the credentials
        ├── ArchiveDisconnectedError       the session with an Aeron Archive ended: connect again
        ├── ArchiveTimeoutError(TimeoutError)  an Aeron Archive did not respond in time
        ├── NoClaimError                   a claim was used that failed or is already complete
        └── ClosedError                    a client, publication, subscription or counter is closed

Hot calls such as `offer` return documented negative results instead of raising.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import Final

#: Remedies for a lack of file descriptors, by errno.
DESCRIPTOR_REMEDIES: Final = {
    errno.EMFILE: "raise the limit of open files of this process: ulimit -n, or LimitNOFILE= of its systemd unit",
    errno.ENFILE: "raise the limit of open files of the system: sysctl fs.file-max",
}


class ErrorCode(IntEnum):
    """Error codes that a driver sends to clients, and to other drivers in ERR frames.

    Source: aeron_client_error.h.
    """

    UNKNOWN_CODE_VALUE = -1
    UNUSED = 0
    INVALID_CHANNEL = 1
    UNKNOWN_SUBSCRIPTION = 2
    UNKNOWN_PUBLICATION = 3
    CHANNEL_ENDPOINT_ERROR = 4
    UNKNOWN_COUNTER = 5
    UNKNOWN_COMMAND_TYPE_ID = 6
    MALFORMED_COMMAND = 7
    NOT_SUPPORTED = 8
    UNKNOWN_HOST = 9
    RESOURCE_TEMPORARILY_UNAVAILABLE = 10
    GENERIC_ERROR = 11
    STORAGE_SPACE = 12
    IMAGE_REJECTED = 13
    PUBLICATION_REVOKED = 14

    @classmethod
    def of(cls, value: int) -> ErrorCode:
        """Return the code for `value`, UNKNOWN_CODE_VALUE if this version does not define it."""
        try:
            return cls(value)
        except ValueError:
            return cls.UNKNOWN_CODE_VALUE


class ArchiveErrorCode(IntEnum):
    """Error codes that an Aeron Archive sends to clients. Source: ArchiveException.java."""

    UNKNOWN = -1
    GENERIC = 0
    ACTIVE_LISTING = 1
    ACTIVE_RECORDING = 2
    ACTIVE_SUBSCRIPTION = 3
    UNKNOWN_SUBSCRIPTION = 4
    UNKNOWN_RECORDING = 5
    UNKNOWN_REPLAY = 6
    MAX_REPLAYS = 7
    MAX_RECORDINGS = 8
    INVALID_EXTENSION = 9
    AUTHENTICATION_REJECTED = 10
    STORAGE_SPACE = 11
    UNKNOWN_REPLICATION = 12
    UNAUTHORISED_ACTION = 13
    REPLICATION_CONNECTION_FAILURE = 14
    EMPTY_RECORDING = 15
    INVALID_POSITION = 16

    @classmethod
    def of(cls, value: int) -> ArchiveErrorCode:
        """Return the code for `value`, UNKNOWN if this version does not define it."""
        try:
            return cls(value)
        except ValueError:
            return cls.UNKNOWN


class AeronError(Exception):
    """Base of the exceptions of aeron-core; wrong arguments may raise TypeError or ValueError instead."""


class ConfigurationError(AeronError, ValueError):
    """A setting, argument, file or environment variable is wrong; the message states what is allowed."""


class ChannelUriError(ConfigurationError):
    """A channel URI is wrong; `code` is the error code that a driver sends to the client that used it."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.INVALID_CHANNEL) -> None:
        super().__init__(message)
        self.code = code


class PluginError(AeronError):
    """A plugin is missing, broken, or clashes with another; the message names the plugin or what is missing."""


class ProtocolError(AeronError, ValueError):
    """Bytes of a message or a shared file were rejected; a driver sends `code` if they were a client's command.

    Never raised past a driver's duty cycle.
    """

    def __init__(self, message: str, code: ErrorCode = ErrorCode.MALFORMED_COMMAND) -> None:
        super().__init__(message)
        self.code = code


class CncError(AeronError):
    """The file that a media driver shares with its clients, `cnc.dat`, cannot be used."""


class CncNotReadyError(CncError):
    """No driver is running yet, it is still starting, or this user may not open `cnc.dat`: a retry may help."""


class CncIncompatibleError(CncError):
    """`cnc.dat` has another version or is damaged: a retry does not help."""


class DriverError(AeronError):
    """The media driver could not start or cannot continue."""


class ActiveDriverError(DriverError):
    """Another media driver is running in the directory."""


class StorageError(DriverError, OSError):
    """A file could not be created or mapped, or another resource of the system is not available."""


class RecordingError(AeronError):
    """A recording could not be written or read."""


class RecordingNotFoundError(RecordingError):
    """The archive does not exist, or does not contain the recording."""


class CorruptRecordingError(RecordingError, ValueError):
    """A file of an archive is damaged or missing; the message names the file, or the recording and the position."""


class DataLossError(RecordingError):
    """The requested positions were purged or never recorded."""


class ArchiveInUseError(RecordingError):
    """Another recorder is writing to the archive."""


class PipelineError(AeronError):
    """A Spark pipeline could not start, or a query failed: its commits stay, and the next run continues after them."""


class ClientError(AeronError):
    """A client operation failed."""


class DriverTimeoutError(ClientError, TimeoutError):
    """No driver is running, or it did not respond in time."""


class ClientTimeoutError(ClientError, TimeoutError):
    """The driver timed this client out, or may have, because the client's conductor did not run for too long."""


class NotConnectedError(ClientError, TimeoutError):
    """A publication or subscription was not connected in time, or the peer of a message is not connected.

    A publication is connected while it has a subscriber, and all receivers that its flow control requires; a
    subscription while it has an image.
    """


class SendTimeoutError(ClientError, TimeoutError):
    """A message was not accepted in time: subscribers do not read fast enough, or the queue of its peer is full."""


class MaxPositionExceededError(ClientError):
    """A stream has no positions left: add a new publication to continue."""


class RegistrationError(ClientError):
    """The driver refused a command; `code` is the driver's error code."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.GENERIC_ERROR) -> None:
        super().__init__(message)
        self.code = code


class ArchiveRefusedError(ClientError):
    """An Aeron Archive refused a request; `code` is its error code, `correlation_id` that of the request."""

    def __init__(self, message: str, code: ArchiveErrorCode, correlation_id: int) -> None:
        super().__init__(message)
        self.code = code
        self.correlation_id = correlation_id


class ArchiveAuthenticationError(ArchiveRefusedError):
    """An Aeron Archive refused the credentials of a client."""


class ArchiveDisconnectedError(ClientError):
    """The session with an Aeron Archive ended: the archive or its driver stopped, or it closed the session."""


class ArchiveTimeoutError(ClientError, TimeoutError):
    """An Aeron Archive was not found, or did not respond in time."""


class NoClaimError(ClientError):
    """A claim was used that failed or is already complete."""


class ClosedError(ClientError):
    """A client, publication, subscription or counter is closed, or was closed while it was in use."""
