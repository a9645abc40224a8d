"""Requests that list and find recordings and subscriptions, and change the channel of one.

Source: AbstractListRecordingsSession.java, ListRecordingSubscriptionsSession.java, Catalog.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from aeron_core.archive.server.channels import parse, stripped
from aeron_core.archive.server.files.segment_files import refused
from aeron_core.errors import ArchiveErrorCode
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import NULL_VALUE, PROTOCOL_VERSION, ControlResponseCode
from aeron_core.protocol.archive.responses import (
    ControlResponse,
    RecordingDescription,
    RecordingSubscriptionDescription,
)

if TYPE_CHECKING:
    from aeron_core.archive.server.files.catalogued import Catalogued
    from aeron_core.archive.server.served_archive import ServedArchive
    from aeron_core.archive.server.served_session import ServedSession
    from aeron_core.protocol.archive.sbe import SbeMessage


#: Bytes of a description without its three texts, and some more.
_LENGTH_WITHOUT_TEXTS: Final = 128


class ListRequests:
    """Handlers of requests; a method raises ArchiveRefusedError for one that is refused."""

    def __init__(self, archive: ServedArchive) -> None:
        self._archive = archive

    def handlers(self) -> Mapping[type, object]:
        """Return the handler of each request."""
        return {
            requests.ListRecordingsRequest: self._list,
            requests.ListRecordingsForUriRequest: self._list_for_uri,
            requests.ListRecordingRequest: self._list_one,
            requests.ListRecordingSubscriptionsRequest: self._list_subscriptions,
            requests.FindLastMatchingRecordingRequest: self._find_last,
            requests.UpdateChannelRequest: self._update_channel,
        }

    def _list(self, session: ServedSession, request: requests.ListRecordingsRequest) -> None:
        found = self._archive.catalog.from_id(request.from_recording_id)
        self._begin(session, request, found, request.record_count)

    def _list_for_uri(self, session: ServedSession, request: requests.ListRecordingsForUriRequest) -> None:
        found = (
            entry if entry.stream_id == request.stream_id and request.channel in entry.channel else None
            for entry in self._archive.catalog.from_id(request.from_recording_id)
        )
        self._begin(session, request, found, request.record_count)

    def _list_one(self, session: ServedSession, request: requests.ListRecordingRequest) -> None:
        _check_no_listing(session)
        entry = self._archive.catalog.entries.get(request.recording_id)
        if entry is None:
            session.respond(
                request.correlation_id, request.recording_id, ControlResponseCode.RECORDING_UNKNOWN
            )
        else:
            session.send(_description(session, request.correlation_id, entry))

    def _begin(
        self,
        session: ServedSession,
        request: requests.ListRecordingsRequest | requests.ListRecordingsForUriRequest,
        found: Iterable[Catalogued | None],
        count: int,
    ) -> None:
        _check_no_listing(session)

        def messages() -> Iterator[SbeMessage | None]:
            sent, next_id = 0, request.from_recording_id
            for entry in found:
                if sent >= count:
                    break
                if entry is None:
                    yield None
                    continue
                yield _description(session, request.correlation_id, entry)
                sent, next_id = sent + 1, entry.recording_id + 1
            if sent < max(count, 1):
                yield _end(session, request, next_id, ControlResponseCode.RECORDING_UNKNOWN)

        session.listing = messages()

    def _list_subscriptions(
        self, session: ServedSession, request: requests.ListRecordingSubscriptionsRequest
    ) -> None:
        _check_no_listing(session)
        count = request.subscription_count
        found = [
            stream
            for stream in list(self._archive.streams.values())[max(request.pseudo_index, 0) :]
            if request.channel in stream.channel
            and not (request.apply_stream_id and stream.request.stream_id != request.stream_id)
        ]

        def messages() -> Iterator[SbeMessage]:
            for stream in found[: max(count, 0)]:
                yield RecordingSubscriptionDescription(
                    session.session_id,
                    request.correlation_id,
                    stream.subscription_id,
                    stream.request.stream_id,
                    stream.channel,
                )
            if len(found) < count or count <= 0:
                yield _end(session, request, 0, ControlResponseCode.SUBSCRIPTION_UNKNOWN)

        session.listing = messages()

    def _find_last(self, session: ServedSession, request: requests.FindLastMatchingRecordingRequest) -> None:
        least = request.min_recording_id
        if least < 0:
            raise refused(f"min_recording_id={least}: must be at least 0", ArchiveErrorCode.UNKNOWN_RECORDING)
        newest_first = reversed(self._archive.catalog.entries.values())
        found = next(
            (
                entry.recording_id
                for entry in newest_first
                if entry.recording_id >= least
                and entry.session_id == request.session_id
                and entry.stream_id == request.stream_id
                and request.channel in entry.channel
            ),
            NULL_VALUE,
        )
        session.respond(request.correlation_id, found)

    def _update_channel(self, session: ServedSession, request: requests.UpdateChannelRequest) -> None:
        _check_no_listing(session)
        uri = parse(request.channel)
        if request.recording_id not in self._archive.catalog.entries:
            session.respond(
                request.correlation_id, request.recording_id, ControlResponseCode.RECORDING_UNKNOWN
            )
            return
        self._archive.catalog.update(
            request.recording_id, stripped_channel=str(stripped(uri)), channel=request.channel
        )
        session.respond(request.correlation_id)


def _check_no_listing(session: ServedSession) -> None:
    if session.listing is not None:
        raise refused("another list is active in this session", ArchiveErrorCode.ACTIVE_LISTING)


def _end(
    session: ServedSession, request: requests.SessionRequest, relevant_id: int, code: ControlResponseCode
) -> ControlResponse:
    return ControlResponse(
        session.session_id, request.correlation_id, relevant_id, code, PROTOCOL_VERSION, ""
    )


def _description(session: ServedSession, correlation_id: int, entry: Catalogued) -> RecordingDescription:
    # Of a catalogue that another program has written, the texts may be longer than a message of the response stream:
    # then each is cut, because one entry must not end the lists of all clients.
    most = max((session.max_message_length - _LENGTH_WITHOUT_TEXTS) // 3, 0)
    texts = [
        text.encode("ascii", "backslashreplace").decode()
        for text in (entry.stripped_channel, entry.channel, entry.source_identity)
    ]
    if sum(map(len, texts)) > 3 * most:
        texts = [text[:most] for text in texts]
    return RecordingDescription(
        session.session_id,
        correlation_id,
        entry.recording_id,
        entry.start_time_ms,
        entry.stop_time_ms,
        entry.start_position,
        entry.stop_position,
        entry.initial_term_id,
        entry.segment_length,
        entry.term_length,
        entry.mtu_length,
        entry.session_id,
        entry.stream_id,
        *texts,
    )
