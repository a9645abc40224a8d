"""Errors of the driver: refused commands, their codes, and the sink that counts and logs every error."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from aeron_core.errors import AeronError, ErrorCode

if TYPE_CHECKING:
    from aeron_core.concurrent.error_log import DistinctErrorLog
    from aeron_core.driver.agents.system_counters import SystemCounters

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)


class CommandRefusedError(AeronError):
    """A command of a client cannot be carried out; the client receives `code` and the message."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.GENERIC_ERROR) -> None:
        super().__init__(message)
        self.code = code


def code_of(error: BaseException) -> ErrorCode:
    """Return the error code that is sent to a client for an exception."""
    code = getattr(error, "code", None)
    if isinstance(code, ErrorCode):
        return code
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return ErrorCode.STORAGE_SPACE
    return ErrorCode.GENERIC_ERROR


def text_of(error: BaseException) -> str:
    """Return the text that is sent to a client; errors that the driver raises on purpose omit the type name."""
    if isinstance(error, AeronError | OSError) and str(error):
        return str(error.strerror if isinstance(error, OSError) and error.strerror else error)
    return f"{type(error).__name__}: {error}"


class ErrorSink:
    """Counts errors and stores each distinct one once; for the conductor, or an agent that holds the GIL."""

    def __init__(self, log: DistinctErrorLog, counters: SystemCounters) -> None:
        self._log = log
        self._counters = counters

    def record(self, code: int, text: str) -> None:
        """Count an error and log its text."""
        self._counters.errors.get_and_add(1)
        self._log.record(code, text)

    def record_exception(self, error: BaseException, context: str = "") -> None:
        """Count an exception and log its text, prefixed with `context`."""
        text = text_of(error)
        self.record(int(code_of(error)), f"{context}: {text}" if context else text)
