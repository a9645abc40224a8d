"""A command that cannot be carried out, with what the client is told."""

from __future__ import annotations

from aeron_core.errors import AeronError, ErrorCode


class CommandRefusedError(AeronError):
    """Raised by the handler of a command; `code` and the message go to the client."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.GENERIC_ERROR) -> None:
        super().__init__(message)
        self.code = code
