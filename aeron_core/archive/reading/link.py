"""Link to a running archive: a client of the local driver and a session, opened again whenever one of them is lost.

Not here: what to request (contents, replayed_range). Invariant: an archive that was reached once, or that another
process has reached, is waited for up to `reconnect-timeout`; a wrong address fails after one attempt.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from aeron_core.archive.aeron_archive import AeronArchive
from aeron_core.client.connecting import connect_named
from aeron_core.errors import (
    ArchiveAuthenticationError,
    ArchiveDisconnectedError,
    ArchiveErrorCode,
    ArchiveRefusedError,
    ArchiveTimeoutError,
    ClientTimeoutError,
    ClosedError,
    DriverTimeoutError,
    NotConnectedError,
    RecordingError,
)

if TYPE_CHECKING:
    from aeron_core.archive.reading.address import ArchiveAddress
    from aeron_core.client.aeron import Aeron

T = TypeVar("T")

#: What a stopped archive or driver causes, and its restart ends.
LOST: Final = (
    ArchiveDisconnectedError,
    ArchiveTimeoutError,
    ClosedError,
    ClientTimeoutError,
    DriverTimeoutError,
    NotConnectedError,
)
#: Refusals of an archive that is busy, or that has not noticed yet that an earlier replay has ended.
BUSY: Final = frozenset({ArchiveErrorCode.MAX_REPLAYS, ArchiveErrorCode.ACTIVE_LISTING})
#: Pause between two attempts. An invented number: short compared to the start of an archive.
_PAUSE_S: Final = 0.1
#: Longest time between two polls of the session, which the archive closes if its pings fill the window.
_POLL_INTERVAL_S: Final = 1.0


class ArchiveLink:
    """Session with one archive; one thread uses it."""

    def __init__(self, address: ArchiveAddress, *, is_patient: bool = False) -> None:
        """`is_patient`: whether to wait for the archive before the first session too."""
        self.address: Final = address
        self._aeron: Aeron | None = None
        self._archive: AeronArchive | None = None
        self._is_patient = is_patient
        self._polled_s = 0.0
        self._errors: deque[ArchiveRefusedError] = deque(maxlen=1)

    @property
    def aeron(self) -> Aeron:
        """The client of the current session; call only in a request."""
        assert self._aeron is not None
        return self._aeron

    def run(self, request: Callable[[AeronArchive], T]) -> T:
        """Call `request` with the session, again if that is lost, and return its result.

        Raises RecordingError if there is no driver or archive, or it refuses the credentials; ArchiveRefusedError if it
        refuses the request; and ConfigurationError for a wrong address.
        """
        deadline_s = time.monotonic() + self.address.reconnect_timeout_s
        while True:
            try:
                return request(self._connected())
            except LOST as error:
                self.close()
                if not self._is_patient or time.monotonic() >= deadline_s:
                    raise self._unreachable(error) from None
            except ArchiveRefusedError as error:
                if error.code not in BUSY or time.monotonic() >= deadline_s:
                    raise
            time.sleep(_PAUSE_S)

    def poll(self) -> None:
        """Read what the archive has sent, at most once a second; raise an error of LOST."""
        now_s = time.monotonic()
        if self._archive is not None and now_s - self._polled_s >= _POLL_INTERVAL_S:
            self._polled_s = now_s
            self._archive.poll_for_recording_signals()

    def take_error(self) -> str:
        """Return a text about the last error that the archive has sent after its response, once; else an empty one."""
        return f": {self._errors.pop()}" if self._errors else ""

    def close(self) -> None:
        """Close session and client; the next request opens new ones."""
        archive, aeron = self._archive, self._aeron
        self._archive = self._aeron = None
        try:
            if archive is not None:
                archive.close()
        except LOST:
            pass
        finally:
            if aeron is not None:
                aeron.close()

    def _connected(self) -> AeronArchive:
        if self._archive is not None and self._archive.is_connected:
            return self._archive
        self.close()
        address = self.address
        credentials = address.credentials()
        # What ends the client ends a request too, which reports it.
        self._aeron = connect_named("archive reader", address.aeron_dir, lambda _: None)
        try:
            self._archive = AeronArchive.connect(
                self._aeron,
                control_request_channel=str(address.control_request),
                control_response_channel=address.response_channel(),
                control_request_stream_id=address.control_request_stream_id,
                control_response_stream_id=address.control_response_stream_id,
                message_timeout=address.message_timeout_s,
                credentials=credentials,
                on_error=self._errors.append,
            )
        except ArchiveAuthenticationError as error:
            self.close()
            given = "change the content of" if address.credentials_file else "give"
            raise RecordingError(
                f"archive at {address.control_request}: refuses the credentials: {given} credentials-file: {error}"
            ) from None
        except ArchiveRefusedError as error:
            self.close()
            raise RecordingError(
                f"archive at {address.control_request}: refuses the session: {error}"
            ) from None
        except BaseException:
            self.close()
            raise
        self._is_patient = True
        return self._archive

    def _unreachable(self, error: Exception) -> RecordingError:
        address = self.address
        if isinstance(error, DriverTimeoutError):
            return RecordingError(f"{address.text}: {error}, or as dir of the address")
        return RecordingError(
            f"archive at {address.control_request}: {error}; control-request and its stream id must be those of the "
            "archive's control channel, and control-response an address of this machine that the archive reaches"
        )
