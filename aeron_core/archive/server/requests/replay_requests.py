"""Requests that start and stop replays.

Source: ArchiveConductor.startReplay, startBoundedReplay, generateReplayToken.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.archive.server.active_replay import ActiveReplay, BoundingCounter, ReplayRange
from aeron_core.archive.server.channels import parse, stripped
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.archive.server.recorded_stream import check_not_deleted
from aeron_core.errors import ArchiveErrorCode, ChannelUriError
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import NULL_VALUE, REPLAY_ALL_AND_FOLLOW, REPLAY_ALL_AND_STOP
from aeron_core.uri.builder import ChannelUriBuilder
from aeron_core.uri.channel_uri import ChannelUri, ParamValue
from aeron_core.uri.values import INT64_MAX

if TYPE_CHECKING:
    from aeron_core.archive.server.files.catalogued import Catalogued
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession
    from aeron_core.client.subscriptions.header import FragmentImage

_Replay = requests.ReplayRequest | requests.BoundedReplayRequest
#: Tokens that are valid at the same time. An invented number: far more than replays.
_MAX_TOKENS: Final = 1024
_COPIED: Final = ("eos",)
#: Source: aeron.MTU_LENGTH maximum, Configuration.MAX_UDP_PAYLOAD_LENGTH.
_MAX_MTU: Final = 65_504
#: Bytes of the `mtu` of a secured channel that its frames do not have. Source: docs/wire/secure-udp.md.
_SEALING_LENGTH: Final = 64
#: Longest linger of a replay: its log buffer stays that long. An invented number, twice the default of a driver.
_MAX_LINGER_NS: Final = 10_000_000_000


class ReplayRequests:
    """Handlers of requests; a method raises ArchiveRefusedError for one that is refused."""

    def __init__(self, archive: ServedArchive) -> None:
        self._archive = archive
        self._tokens: dict[int, tuple[ServedSession, int, int]] = {}  # session, recording id, deadline

    def handlers(self) -> Mapping[type, object]:
        """Return the handler of each request."""
        return {
            requests.ReplayRequest: self._start,
            requests.BoundedReplayRequest: self._start,
            requests.StopReplayRequest: self._stop,
            requests.StopAllReplaysRequest: self._stop_all,
            requests.ReplayTokenRequest: self._token,
        }

    def session_of(self, request: _Replay) -> ServedSession | None:
        """Return the session that requested the token of a replay over a response channel; None without a token."""
        token = request.replay_token
        if token in (NULL_VALUE, -(2**63)) or token not in self._tokens:
            return None
        session, recording_id, deadline_ms = self._tokens[token]
        is_valid = recording_id == request.recording_id and self._archive.now_ms < deadline_ms
        return session if is_valid else None

    def start_for(self, session: ServedSession, request: _Replay, image: FragmentImage) -> None:
        """Start a replay over the response channel of `image`, on which the request arrived."""
        self._replay(session, request, image.correlation_id)

    def do_work(self, now_ms: int) -> None:
        """Forget tokens that were not used in time."""
        expired = [token for token, (_, _, deadline_ms) in self._tokens.items() if deadline_ms <= now_ms]
        for token in expired:
            del self._tokens[token]

    def _start(self, session: ServedSession, request: _Replay) -> None:
        self._replay(session, request, None)

    def _replay(self, session: ServedSession, request: _Replay, response_id: int | None) -> None:
        archive, recording_id = self._archive, request.recording_id
        if len(archive.replays) >= archive.params.max_replays:
            raise refused(
                f"{archive.params.max_replays} replays are active, the most", ArchiveErrorCode.MAX_REPLAYS
            )
        entry = archive.recording(recording_id)
        counter = None
        if isinstance(request, requests.BoundedReplayRequest):
            counter = BoundingCounter(archive.aeron.counters_reader, request.limit_counter_id)
        position = entry.start_position
        if request.position != NULL_VALUE:
            position = request.position
            _check_position(entry, position)
        limit = self._limit_of(request, entry, position, counter)
        check_not_deleted(archive, entry)
        io_length = archive.params.io_length
        if request.file_io_max_length > 0:
            io_length = min(io_length, request.file_io_max_length)
        if io_length < entry.mtu_length:
            raise refused(
                f"file_io_max_length={request.file_io_max_length}: must be at least {entry.mtu_length}, the MTU of the "
                "recording"
            )
        wanted = ReplayRange(
            position=position,
            limit=limit,
            io_length=io_length & -wire.FRAME_ALIGNMENT,
            channel=str(_channel(parse(request.replay_channel), entry, position, response_id)),
            stream_id=request.replay_stream_id,
            counter=counter,
        )
        replay = ActiveReplay(archive, session, request.correlation_id, entry, wanted)
        archive.replays[archive.next_id()] = replay

    def _limit_of(
        self, request: _Replay, entry: Catalogued, position: int, counter: BoundingCounter | None
    ) -> int:
        """Return the position at which the replay ends; raise ArchiveRefusedError if that is before its begin."""
        recording_id, length = entry.recording_id, request.length
        is_followed = counter is not None or recording_id in self._archive.recordings
        end = self._archive.recorded_position(entry)
        if counter is not None and counter.value is not None:
            end = counter.value
        if is_followed and position > end:
            raise refused(
                f"position {position} of recording {recording_id}: must be at most {end}, the limit",
                ArchiveErrorCode.INVALID_POSITION,
            )
        longest = INT64_MAX - position if is_followed else end - position
        if length == REPLAY_ALL_AND_FOLLOW:
            length = longest
        elif length == REPLAY_ALL_AND_STOP:
            length = end - position
            if length == 0:
                raise refused(f"recording {recording_id} is empty", ArchiveErrorCode.EMPTY_RECORDING)
        length = min(length, longest)
        if length < 0:
            raise refused(f"length {request.length} from position {position}: must not be negative")
        return position + length

    def _stop(self, session: ServedSession, request: requests.StopReplayRequest) -> None:
        for replay in self._archive.replays.values():
            if replay.replay_id == request.replay_session_id:
                replay.close()
        session.respond(request.correlation_id)

    def _stop_all(self, session: ServedSession, request: requests.StopAllReplaysRequest) -> None:
        stop_replays(self._archive, request.recording_id)
        session.respond(request.correlation_id)

    def _token(self, session: ServedSession, request: requests.ReplayTokenRequest) -> None:
        self._archive.recording(request.recording_id)
        if len(self._tokens) >= _MAX_TOKENS:
            raise refused(f"{_MAX_TOKENS} replay tokens are valid, the most", ArchiveErrorCode.MAX_REPLAYS)
        # A secret: with it, another stream of requests acts for this session. Positive, so that it is no null value.
        token = int.from_bytes(os.urandom(8), "little") >> 1
        deadline_ms = self._archive.now_ms + self._archive.params.connect_timeout_ms
        self._tokens[token] = session, request.recording_id, deadline_ms
        session.respond(request.correlation_id, token)


def stop_replays(archive: ServedArchive, recording_id: int) -> None:
    """End the replays of a recording, -1: of all."""
    for replay in archive.replays.values():
        if recording_id in (NULL_VALUE, replay.recording_id):
            replay.close()


def _check_position(entry: Catalogued, position: int) -> None:
    recording_id = entry.recording_id
    if position % wire.FRAME_ALIGNMENT:
        raise refused(f"position {position}: must be a multiple of {wire.FRAME_ALIGNMENT}")
    if position < entry.start_position:
        raise refused(
            f"position {position} of recording {recording_id}: must be at least {entry.start_position}",
            ArchiveErrorCode.INVALID_POSITION,
        )
    if entry.stop_position != NULL_VALUE and position >= entry.stop_position:
        raise refused(
            f"position {position} of recording {recording_id}: must be less than {entry.stop_position}",
            ArchiveErrorCode.INVALID_POSITION,
        )


def _channel(uri: ChannelUri, entry: Catalogued, position: int, response_id: int | None) -> ChannelUri:
    """Return the channel of the publication, which begins at `position` with the lengths of the recording."""
    more: dict[str, ParamValue | None] = {key: uri.params[key] for key in _COPIED if key in uri}
    try:
        linger_ns = uri.get_duration_ns("linger", None)
    except ChannelUriError as error:
        raise refused(str(error)) from error
    if linger_ns is not None:
        more["linger"] = min(linger_ns, _MAX_LINGER_NS)
    # The terms of the recording may have 1 GiB, whatever the client asks for.
    kept = stripped(uri, more | {"sparse": True})
    builder = ChannelUriBuilder(kept)
    builder.initial_position(position, entry.initial_term_id, entry.term_length)
    sealing_length = _SEALING_LENGTH if "security" in kept else 0
    builder.mtu(min(entry.mtu_length + sealing_length, _MAX_MTU))
    if response_id is not None:
        builder.response_correlation_id(response_id)
    return builder.build()
