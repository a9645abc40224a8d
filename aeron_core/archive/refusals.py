"""Errors for responses of an archive, with what to do about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_core.errors import ArchiveAuthenticationError, ArchiveErrorCode, ArchiveRefusedError
from aeron_core.protocol.archive.codes import ControlResponseCode

if TYPE_CHECKING:
    from aeron_core.protocol.archive.responses import ControlResponse

_Code = ArchiveErrorCode
_REMEDIES: Final = {
    _Code.UNKNOWN: "see the error log of the archive",
    _Code.GENERIC: "correct the arguments, or see the error log of the archive",
    _Code.ACTIVE_LISTING: "wait until the previous list is complete",
    _Code.ACTIVE_RECORDING: "stop the recording first",
    _Code.ACTIVE_SUBSCRIPTION: "the stream is already recorded: stop that, or use its recording",
    _Code.UNKNOWN_SUBSCRIPTION: "list the recording subscriptions of the archive",
    _Code.UNKNOWN_RECORDING: "list the recordings of the archive",
    _Code.UNKNOWN_REPLAY: "the replay has ended",
    _Code.MAX_REPLAYS: "stop another replay, or raise aeron.archive.max.concurrent.replays",
    _Code.MAX_RECORDINGS: "stop another recording, or raise aeron.archive.max.concurrent.recordings",
    _Code.INVALID_EXTENSION: "add the publication with ArchivedRecording.extension_channel",
    _Code.AUTHENTICATION_REJECTED: "pass other credentials, or on_challenge",
    _Code.STORAGE_SPACE: "free space in the folder of the archive",
    _Code.UNKNOWN_REPLICATION: "the replication has ended",
    _Code.UNAUTHORISED_ACTION: "connect with credentials that may do this",
    _Code.REPLICATION_CONNECTION_FAILURE: "check the control channel of the source, and that it runs",
    _Code.EMPTY_RECORDING: "wait until something is recorded",
    _Code.INVALID_POSITION: "use a position from the start to the end of the recording",
}


def refusal(what: str, response: ControlResponse) -> ArchiveRefusedError:
    """Return the error for a response whose code is not OK; `what` is the name of the request."""
    code, text = ArchiveErrorCode.of(response.relevant_id), response.error_message
    if response.code is ControlResponseCode.RECORDING_UNKNOWN:
        code, text = ArchiveErrorCode.UNKNOWN_RECORDING, f"recording {response.relevant_id}"
    elif response.code is ControlResponseCode.SUBSCRIPTION_UNKNOWN:
        code, text = ArchiveErrorCode.UNKNOWN_SUBSCRIPTION, f"subscription {response.relevant_id}"
    name = code.name if code is not ArchiveErrorCode.UNKNOWN else f"error code {response.relevant_id}"
    # Bytes that are not ASCII are surrogates in the text, which cannot be printed.
    text = text.encode("ascii", "backslashreplace").decode()
    kind = (
        ArchiveAuthenticationError
        if code is ArchiveErrorCode.AUTHENTICATION_REJECTED
        else ArchiveRefusedError
    )
    return kind(
        f"{what}: refused by the archive: {text} ({name}): {_REMEDIES[code]}", code, response.correlation_id
    )
