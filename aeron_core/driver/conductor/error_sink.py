"""Errors of the driver: refused commands, their codes, and the sink that counts and logs errors."""

from __future__ import annotations

import errno
import os
from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from aeron_core.errors import AeronError, ErrorCode
from aeron_core.uri.channel_uri import MAX_URI_LENGTH

if TYPE_CHECKING:
    from aeron_core.concurrent.error_log import DistinctErrorLog
    from aeron_core.driver.agents.system_counters import SystemCounters

# The device is full, or the quota of its user is used up.
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
#: Source: aeron_error.c, aeron_error_code_str.
_DESCRIPTIONS: Final = {
    ErrorCode.UNUSED: "generic error, see message",
    ErrorCode.GENERIC_ERROR: "generic error, see message",
    ErrorCode.INVALID_CHANNEL: "invalid channel",
    ErrorCode.UNKNOWN_SUBSCRIPTION: "unknown subscription",
    ErrorCode.UNKNOWN_PUBLICATION: "unknown publication",
    ErrorCode.CHANNEL_ENDPOINT_ERROR: "channel endpoint error",
    ErrorCode.UNKNOWN_COUNTER: "unknown counter",
    ErrorCode.UNKNOWN_COMMAND_TYPE_ID: "unknown command type id",
    ErrorCode.MALFORMED_COMMAND: "malformed command",
    ErrorCode.NOT_SUPPORTED: "not supported",
    ErrorCode.UNKNOWN_HOST: "unknown host",
    ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE: "resource temporarily unavailable",
    ErrorCode.STORAGE_SPACE: "insufficient storage space",
    ErrorCode.IMAGE_REJECTED: "image rejected",
    ErrorCode.PUBLICATION_REVOKED: "publication revoked",
}


class CommandRefusedError(AeronError):
    """A command of a client cannot be carried out; the client receives `code` and the message.

    A generic error is logged as an invalid argument unless `is_invalid_argument` is false.
    """

    def __init__(
        self,
        message: str,
        code: ErrorCode = ErrorCode.GENERIC_ERROR,
        *,
        is_invalid_argument: bool = True,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.is_invalid_argument = is_invalid_argument


def code_of(error: BaseException) -> ErrorCode:
    """Return the error code that is sent to a client for an exception.

    Its own `code` if it has one, STORAGE_SPACE if the device or a quota is full, else GENERIC_ERROR.
    """
    # Clients raise a registration error with this code, by which applications decide whether to retry.
    code = getattr(error, "code", None)
    if isinstance(code, ErrorCode):
        return code
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return ErrorCode.STORAGE_SPACE
    return ErrorCode.GENERIC_ERROR


def text_of(error: BaseException, channel: str = "") -> str:
    """Return the text of an error, for a client and for the error log.

    `channel` is appended, unless the text contains it or it is longer than MAX_URI_LENGTH. The text of an exception
    other than AeronError and OSError, or without a message, begins with the name of its type.
    """
    if isinstance(error, AeronError | OSError) and str(error):
        text = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
    else:
        text = f"{type(error).__name__}: {error}"
    # A URI longer than the limit was refused for its length: appended here, it could make the response too long.
    if len(channel) > MAX_URI_LENGTH or channel in text:
        return text
    return f"{text}: channel={channel}"


def heading_of(error: BaseException) -> tuple[int, str]:
    """Return the number and description with which the reference starts a log entry for an exception.

    A negative number is an error code of the protocol, a positive one an errno. Source: aeron_error.c.
    """
    if isinstance(error, OSError) and error.errno:
        return error.errno, os.strerror(error.errno)
    code = code_of(error)
    if code is ErrorCode.GENERIC_ERROR and getattr(error, "is_invalid_argument", True):
        return errno.EINVAL, os.strerror(errno.EINVAL)
    return -code, _DESCRIPTIONS.get(code, "unknown error code")


class Cause(IntEnum):
    """Causes of errors with texts that depend on clients or peers; each gets the log's length divided by its value.

    Entries are never removed: without a limit, forged addresses or a client that uses ever new stream ids would fill
    the log, and later errors of the driver would be lost. Not from the reference, which has no limit.
    """

    CLIENT = 2
    PEER = 4


#: Maximum number of texts that are logged for one kind of error of peers. As in the reference, texts contain values
#: that peers chose, such as their mtu, so peers could cause any number of texts. Invented: enough for the different
#: errors of a real network, and 1 % of the log with texts of usual length.
MAX_TEXTS_OF_KIND: Final = 64


class ErrorSink:
    """Counter and log of errors, which keeps each distinct one once; for threads that hold the GIL."""

    def __init__(self, log: DistinctErrorLog, counters: SystemCounters) -> None:
        self._log = log
        self._counters = counters
        self._used_lengths = dict.fromkeys(Cause, 0)
        # A kind contains nothing that peers chose: the driver and its clients determine how many kinds there are.
        self._texts_of_kind: Counter[str] = Counter()

    def record(self, code: int, text: str, peer: str = "") -> None:
        """Count an error and log its text, if the log has space; `peer` is the address of the peer that caused it."""
        self._counters.errors.get_and_add(1)
        # The log is a fixed buffer with one entry for each distinct text. Repetitions only update its
        # count and its time, so a text should not contain numbers that always differ.
        self._log.record(code, text, peer)

    def note(self, text: str) -> None:
        """Log a text about what the driver ignores, without counting an error; the caller limits how many there are."""
        self._log.record(ErrorCode.UNUSED, text)

    def record_variable(self, cause: Cause, code: int, text: str, kind: str, *, peer: str = "") -> None:
        """Count an error and log its text, which may differ each time; used by the conductor only.

        When the entries of the cause have used up their part of the log, or peers have caused
        MAX_TEXTS_OF_KIND texts of a `kind`, new texts are counted in one entry for each kind. `kind` must not
        contain what peers chose. `peer`, the address of a peer, is kept beside the text.
        """
        length = self._log.missing_length(code, text, peer)
        if self._used_lengths[cause] + length > self._log.capacity // cause:
            code = ErrorCode.UNUSED
            text = (
                f"{kind}: further errors, whose texts exceed 1/{cause:d} of this log; raise "
                f"AERON_ERROR_BUFFER_LENGTH to record more texts"
            )
        elif cause is Cause.PEER and length > 0 and self._texts_of_kind[kind] >= MAX_TEXTS_OF_KIND:
            code = ErrorCode.UNUSED
            text = f"{kind}: further errors, of which this log keeps {MAX_TEXTS_OF_KIND} texts"
        elif length > 0:
            self._used_lengths[cause] += length
            self._texts_of_kind[kind] += 1
        self.record(code, text, peer)

    def record_exception(self, error: BaseException, context: str = "", channel: str = "") -> None:
        """Count an exception and log its text after the description of its number and `context`; see `heading_of`."""
        self.record(*_entry_of(error, context, channel))

    def record_command(self, error: BaseException, command: str, channel: str = "") -> None:
        """Count and log the failure of a client's command like `record_exception`, within the limit for clients.

        Used by the conductor only.
        """
        self.record_variable(Cause.CLIENT, *_entry_of(error, command, channel), kind=command)

    def record_of_peer(self, error: BaseException, context: str, peer: str) -> None:
        """Count and log an exception that a peer caused like `record_exception`, within the limits for peers.

        Used by the conductor only.
        """
        self.record_variable(Cause.PEER, *_entry_of(error, context, ""), kind=context, peer=peer)


def _entry_of(error: BaseException, context: str, channel: str) -> tuple[int, str]:
    number, description = heading_of(error)
    text = text_of(error, channel)
    return number, f"{description}: {context}: {text}" if context else f"{description}: {text}"
