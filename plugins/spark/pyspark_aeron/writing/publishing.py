"""Publication of the rows of a batch at least once, each with a unique identifier unless `dedupe` is none.

Unless the channel sets session-id, the session id of the publication is derived from the query, so it is the
same on every machine and after every restart. By default the reserved value of a message contains its batch
and sequence: within a session, a message is a duplicate if its value is not above the largest received so
far.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from typing import Final

from aeron_core.client.aeron import Aeron
from aeron_core.client.connecting import connect_named
from aeron_core.client.publications.offerer import Offerer
from aeron_core.client.publications.publication import Publication
from aeron_core.concurrent.counter_types import SENDER_POSITION
from aeron_core.errors import ClosedError, ConfigurationError, NotConnectedError, RegistrationError
from aeron_core.recording.writing.batch_appender import MessageColumn
from aeron_core.uri.builder import ChannelUriBuilder
from aeron_core.uri.channel_uri import ChannelUri
from pyspark_aeron.writing.sink_options import SinkOptions
from pyspark_aeron.writing.staged_file import StagedFile, columns_of

#: The lower bits of the reserved value number the messages of a batch. The 31 bits above them number the batches: at
#: ten batches a second they last for six years.
SEQUENCE_BITS: Final = 32
#: Bytes before a message with `dedupe=header`: query, batch (8 each), partition, sequence (4 each), little-endian.
HEADER_LENGTH: Final = 24
_PAUSE_S: Final = 0.001
#: Between requests for a session id that is in use. An invented number: a fiftieth of the default linger timeout.
_LINGER_PAUSE_S: Final = 0.1

# Caches of this process, which commits one batch after the other.
_clients: dict[str | None, Aeron] = {}
_publications: dict[tuple[str | None, str, int], Publication] = {}


def publish(options: SinkOptions, files: Iterable[StagedFile], query: str, batch_id: int) -> None:
    """Offer all rows in order, and wait until the driver has sent them.

    Raises NotConnectedError after `connectTimeout` without a subscriber, or if the driver does not send all
    in that time; SendTimeoutError after back pressure for that time; ClosedError if the publication is closed
    meanwhile; ConfigurationError for more than 2^32 messages; RecordingError for a staged file that was changed;
    ValueError for a message that is too long for the channel; and the errors of `connect` and `Aeron.add_publication`.
    """
    timeout_s = options.connect_timeout / 1e9
    publication = _publication(options, query, timeout_s)
    publication.await_connected(timeout_s)
    offerer = Offerer(publication, timeout_s, back_pressure_timeout=timeout_s)
    for file, column in columns_of(files):
        _offer_column(offerer, options, column, _TaskIdentity(query, batch_id, file.task.partition))
    _await_sent(options, publication, timeout_s)


def end_publication(options: SinkOptions, query: str) -> None:
    """Close the publication of a query or job, if there is one in this process."""
    if options.channel is not None:
        publication = _publications.pop(_key(options, query), None)
        if publication is not None:
            publication.close()


def end_all() -> None:
    """Close all publications and clients of this process."""
    for publication in _publications.values():
        publication.close()
    _publications.clear()
    for client in _clients.values():
        client.close()
    _clients.clear()


class _TaskIdentity:
    """Identity of the rows of a task."""

    def __init__(self, query: str, batch_id: int, partition: int) -> None:
        self.reserved_value = batch_id << SEQUENCE_BITS
        self._prefix = (
            query_hash(query).to_bytes(8, "little")
            + batch_id.to_bytes(8, "little")
            + partition.to_bytes(4, "little")
        )

    def header(self, sequence: int) -> bytes:
        """Return the 24-byte header of message number `sequence` of the batch."""
        return self._prefix + (sequence & 0xFFFFFFFF).to_bytes(4, "little")


def query_hash(query: str) -> int:
    """Return an unsigned 64-bit hash of the id of a query."""
    return int.from_bytes(hashlib.blake2b(query.encode(), digest_size=8).digest(), "little")


def session_id_of(query: str) -> int:
    """Return the session id of the messages of a query, an int32 that depends only on the id of the query."""
    return int.from_bytes(hashlib.blake2b(query.encode(), digest_size=4).digest(), "little", signed=True)


def _offer_column(
    offerer: Offerer, options: SinkOptions, column: MessageColumn, identity: _TaskIdentity
) -> None:
    data, boundaries = column.data, column.boundaries
    if offerer.messages + column.count > 1 << SEQUENCE_BITS:
        raise ConfigurationError(
            f"a batch has at least {offerer.messages + column.count} messages: must have at most "
            f"{1 << SEQUENCE_BITS}; let its source deliver smaller batches, with maxBytesPerTrigger if it is an archive"
        )
    if options.dedupe == "reserved":
        first = identity.reserved_value | offerer.messages
        offerer.offer_batch(data, boundaries, column.count, first, reserved_step=1)
    elif options.dedupe == "none":
        offerer.offer_batch(data, boundaries, column.count)
    else:
        for index in range(column.count):
            begin = boundaries.get_i64(index * 8)
            message = data.view(begin, boundaries.get_i64(index * 8 + 8) - begin)
            offerer.offer(identity.header(offerer.messages) + message.get_bytes(0, len(message)))


def _key(options: SinkOptions, query: str) -> tuple[str | None, str, int]:
    assert options.channel is not None
    uri = ChannelUri.parse(options.channel)
    if "session-id" not in uri.params:
        uri = ChannelUriBuilder(uri).session_id(session_id_of(query)).build()
    return options.aeron_dir, str(uri), options.stream_id


def _publication(options: SinkOptions, query: str, timeout_s: float) -> Publication:
    key = _key(options, query)
    publication = _publications.get(key)
    if publication is None or publication.is_closed:
        # A shared publication: another process of the query with the same session may be alive or not timed out yet.
        publication = _publications[key] = _add_publication(options, key[1], timeout_s)
    return publication


def _add_publication(options: SinkOptions, channel: str, timeout_s: float) -> Publication:
    """Return a new publication; waits up to `timeout_s` while one with the same session lingers.

    That of a process of the query that has ended, or whose client the driver has timed out, keeps its session id until
    it has lingered, 5 s by default.
    """
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            return _client(options.aeron_dir).add_publication(channel, options.stream_id)
        except RegistrationError as error:
            # The text of all media drivers; their codes differ.
            if "clashing sessionId" not in str(error) or time.monotonic() >= deadline_s:
                raise
        time.sleep(_LINGER_PAUSE_S)


def _client(aeron_dir: str | None) -> Aeron:
    client = _clients.get(aeron_dir)
    if client is None or client.is_closed:
        client = _clients[aeron_dir] = connect_named("spark sink", aeron_dir)
    return client


def _await_sent(options: SinkOptions, publication: Publication, timeout_s: float) -> None:
    """Wait until the driver's sender has sent everything; over shared memory there is no sender.

    Raises ClosedError if the publication is closed meanwhile, NotConnectedError after `timeout_s`.
    """
    counters = _client(options.aeron_dir).counters_reader
    record = next(
        (
            record
            for record in counters
            if record.type_id == SENDER_POSITION
            and record.registration_id == publication.original_registration_id
        ),
        None,
    )
    deadline_s = time.monotonic() + timeout_s
    while record is not None and counters.value(record.id) < publication.position:
        if publication.is_closed:
            raise ClosedError(
                f"{publication!r} was closed while a batch was sent; restart the query, or run the job again, to "
                "repeat the batch"
            )
        if time.monotonic() >= deadline_s:
            raise NotConnectedError(
                f"{publication.channel} stream {publication.stream_id}: position {publication.position} was not sent "
                f"within {timeout_s:g} s: increase connectTimeout, or check the receivers"
            )
        time.sleep(_PAUSE_S)
