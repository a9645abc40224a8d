"""The one exception tree.

    AeronError
    ├── ConfigurationError(ValueError)     a setting, a file or the environment is wrong: the user can mend it
    │   └── ChannelUriError                a channel URI is wrong
    ├── PluginError                        a plugin is missing, broken, or clashes with another
    ├── ProtocolError(ValueError)          bytes of a peer that no decoder may accept
    ├── CncError                           the file by which a driver and its clients meet cannot be used
    │   ├── CncNotReadyError               a driver is not there or still starting: trying again may help
    │   └── CncIncompatibleError           of another version, or damaged: trying again will not help
    ├── DriverError                        the media driver could not start or cannot go on
    │   ├── ActiveDriverError              another driver is alive in the directory
    │   └── StorageError(OSError)          a file could not be made or mapped: /dev/shm is too small, ...
    ├── RecordingError                     a recording could not be written or read
    │   ├── RecordingNotFoundError         there is no such archive or recording
    │   ├── CorruptRecordingError(ValueError)  its files are not what they must be
    │   ├── DataLossError                  what was asked for is no longer held
    │   └── ArchiveInUseError              another recorder writes into the archive
    ├── PipelineError                      a query of a Spark pipeline failed; its commits stay
    └── ClientError                        a client could not do what it was asked
        ├── DriverTimeoutError(TimeoutError)   no driver, or it no longer answers
        ├── ClientTimeoutError(TimeoutError)   the driver gave this client up
        ├── NotConnectedError(TimeoutError)    nobody connected to a publication or subscription in time
        ├── RegistrationError              the driver refused a command; carries its error code
        ├── NoClaimError                   a claim was used that failed, or that has ended
        └── ClosedError                    used after close

Results of hot calls such as `offer` are documented negatives, never exceptions.
"""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """Error codes that a driver sends to clients and to other drivers.

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
        """Return the code for `value`, UNKNOWN_CODE_VALUE where this version does not know it."""
        try:
            return cls(value)
        except ValueError:
            return cls.UNKNOWN_CODE_VALUE


class AeronError(Exception):
    """Base of every exception that aeron-core raises on purpose."""


class ConfigurationError(AeronError, ValueError):
    """A setting, a file or the environment is wrong; the message says what is allowed."""


class ChannelUriError(ConfigurationError):
    """A channel URI is wrong; `code` is what the driver tells a client."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.INVALID_CHANNEL) -> None:
        super().__init__(message)
        self.code = code


class PluginError(AeronError):
    """A plugin is missing, broken, or clashes with another; the message names the distribution."""


class ProtocolError(AeronError, ValueError):
    """Bytes that a decoder must not accept; `code` is what to answer. Never raised past a duty cycle."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.MALFORMED_COMMAND) -> None:
        super().__init__(message)
        self.code = code


class CncError(AeronError):
    """The file by which a media driver and its clients meet cannot be used."""


class CncNotReadyError(CncError):
    """The driver of the directory is not there or still starting; trying again may help."""


class CncIncompatibleError(CncError):
    """The file is of another version or damaged; trying again will not help."""


class DriverError(AeronError):
    """The media driver could not start or cannot go on."""


class ActiveDriverError(DriverError):
    """Another media driver is alive in the directory."""


class StorageError(DriverError, OSError):
    """A file could not be made or mapped."""


class RecordingError(AeronError):
    """A recording could not be written or read."""


class RecordingNotFoundError(RecordingError):
    """There is no such archive, or no such recording in it."""


class CorruptRecordingError(RecordingError, ValueError):
    """The files of an archive are not what they must be; the message says where."""


class DataLossError(RecordingError):
    """Positions were asked for that were purged, or that never came."""


class ArchiveInUseError(RecordingError):
    """Another recorder writes into the archive."""


class PipelineError(AeronError):
    """A query of a Spark pipeline failed; its commits stay, and the next run continues after them."""


class ClientError(AeronError):
    """A client could not do what it was asked."""


class DriverTimeoutError(ClientError, TimeoutError):
    """There is no driver, or it no longer answers."""


class ClientTimeoutError(ClientError, TimeoutError):
    """The driver gave this client up, or the client's own conductor was not run for too long."""


class NotConnectedError(ClientError, TimeoutError):
    """Nobody connected to a publication or a subscription in time."""


class RegistrationError(ClientError):
    """The driver refused a command; `code` is the driver's error code."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.GENERIC_ERROR) -> None:
        super().__init__(message)
        self.code = code


class NoClaimError(ClientError):
    """A claim was used that a publication had no room for, or that has ended."""


class ClosedError(ClientError):
    """A client, publication, subscription or counter was used after its close."""
