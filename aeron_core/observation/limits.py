"""What limits a stream: for each log, the party that holds it back, as data and as a sentence.

All is derived from positions in bytes and, as far as the log could be read, from its parameters. A party limits a
publication if one of these holds, in this order:

    not connected   no subscriber reads the log (IPC), or the log shows no connection, so offers return NOT_CONNECTED.
                    Without the log: the publisher limit is not beyond the sender position, and no spy is behind that.
    publisher       the publisher is at its limit: `limit - position` is at most an eighth of the publisher window. That
                    is the step in which the limit of IPC moves. Offers return BACK_PRESSURED, or will after a few
                    messages. The window is that of the log, else `limit` minus the position of the slowest consumer.
                    The cause is the slowest consumer, which determines the limit:
                      subscriber  of IPC, or a spy that is behind the sender
                      peer        of a connection, which has not confirmed more
                      receiver    side (below), if flow control has stopped the sender
                      sender      otherwise: it may send and has not done so yet
    receiver side   flow control has stopped the sender: there is unsent data, and the window of the sender,
                    `sender limit - sender position`, is shorter than that data and than one datagram (mtu of the log,
                    else 1408 bytes). It counts also if the publisher still has a window. If the image is in one of the
                    snapshots, the largest of three parts of the receiver's window is the cause:
                      subscriber  received and not read: receiver position - position of the slowest subscriber
                      loss        behind a gap: high-water mark - receiver position
                      receiver    under way: sender position - high-water mark; the window is too short for the latency
                    Of several images, in several drivers, the one counts whose receiver's limit, its window beyond the
                    position of its slowest subscriber, is nearest to that of the sender: min flow control follows the
                    slowest receiver, max flow control the fastest.
                    Without an image here the cause is `receiver`: on another host. So it is if the limit of that image
                    is beyond that of the sender by more than half of its window: another receiver holds the sender.

A party limits an image, which a publication elsewhere feeds, if at least three quarters of its receiver's window are
used, `high-water mark - position of the slowest subscriber`: a receiver extends the window when a quarter was consumed.
 The cause is `subscriber` or `loss`, as above. The window is that of CUBIC's counter, else that of the log, else
128 KiB, the default of all drivers.

In all other cases nothing limits the stream: the party is `none`.

A subscriber that limits a log *does not poll* if its position is the same in two snapshots of one run of the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from aeron_core.frozen import frozen
from aeron_core.observation.limitation import Limitation, Party
from aeron_core.observation.snapshots import DriverSnapshot
from aeron_core.observation.streams import (
    ReceivedStream,
    SentStream,
    StreamKind,
    StreamSession,
    Subscriber,
    lag,
)

#: Steps of a window: see the module.
_PUBLISHER_STEPS: Final = 8
_RECEIVER_STEPS: Final = 4
#: Source: AERON_RCV_INITIAL_WINDOW_LENGTH, AERON_MTU_LENGTH defaults.
_DEFAULT_RECEIVER_WINDOW: Final = 128 * 1024
_DEFAULT_MTU: Final = 1408
#: First bytes of multicast addresses of IPv4. Source: RFC 5771.
_FIRST_MULTICAST: Final = 224
_LAST_MULTICAST: Final = 239


def limitations(
    snapshot: DriverSnapshot, previous: DriverSnapshot | None = None, others: Iterable[DriverSnapshot] = ()
) -> list[Limitation]:
    """Return what limits each log of a snapshot, publications before images, in the order of its streams.

    `previous`: an earlier snapshot of the same driver, which shows whether subscribers poll. `others`: snapshots of
    other drivers, where the images of a publication may be.
    """
    everywhere = [snapshot, *others]
    earlier = previous if previous is not None and _is_before(previous, snapshot) else None
    found = []
    for stream in snapshot.streams:
        found += [
            _of_publication(_Log(snapshot, stream, sent, earlier), sent, everywhere)
            for sent in stream.publications.values()
        ]
        found += [
            _of_image(_Log(snapshot, stream, image, earlier), image) for image in stream.images.values()
        ]
    return found


def _is_before(previous: DriverSnapshot, snapshot: DriverSnapshot) -> bool:
    return previous.is_same_driver(snapshot) and previous.monotonic_ns < snapshot.monotonic_ns


@frozen()
class _Log:
    """One log with the snapshot that contains it."""

    snapshot: DriverSnapshot
    stream: StreamSession
    log: SentStream | ReceivedStream
    earlier: DriverSnapshot | None

    def limited_by(
        self,
        party: Party,
        behind: int | None = None,
        *,
        is_publisher_limited: bool = False,
        at: _Log | None = None,
        subscriber: Subscriber | None = None,
    ) -> Limitation:
        """Return a limitation of this log; `at`: the log of the party, `subscriber`: the subscriber that limits."""
        place = at or self
        return Limitation(
            party,
            self.stream.stream_id,
            self.stream.session_id,
            self.log.registration_id,
            self.log.kind,
            self.log.channel,
            is_publisher_limited,
            behind,
            subscriber,
            None if subscriber is None else place.snapshot.clients.get(subscriber.client_id),
            None if subscriber is None else place.is_polling(subscriber),
            None if at is None else at.snapshot.driver,
            place.source if party is Party.LOSS else "",
            self._endpoint if party is Party.RECEIVER and at is None else "",
        )

    @property
    def source(self) -> str:
        """The address from which the last lost data was sent, empty if the loss report has none."""
        entries = self.snapshot.losses_of(self.stream)
        return max(entries, key=lambda each: each.last_observation_ms).source if entries else ""

    @property
    def _endpoint(self) -> str:
        """The address of the only receiver, empty if there may be several."""
        _, _, parameters = self.log.channel.partition("?")
        named = dict(each.split("=", 1) for each in parameters.split("|") if "=" in each)
        endpoint = named.get("endpoint", "")
        is_shared = "control" in named or "control-mode" in named or _is_multicast(endpoint)
        return "" if is_shared else endpoint

    def is_polling(self, subscriber: Subscriber) -> bool | None:
        """Return whether a subscriber of this log has moved since the earlier snapshot, None without one."""
        before = None if self.earlier is None else _same_log(self.earlier, self.stream, self.log)
        if before is None:
            return None
        for each in before.subscribers:
            if each.registration_id == subscriber.registration_id:
                return each.position != subscriber.position
        return None


def _same_log(
    snapshot: DriverSnapshot, stream: StreamSession, log: SentStream | ReceivedStream
) -> SentStream | ReceivedStream | None:
    same = snapshot.stream(stream.stream_id, stream.session_id)
    if same is None:
        return None
    logs = same.publications if isinstance(log, SentStream) else same.images
    return logs.get(log.registration_id)


def _of_publication(place: _Log, sent: SentStream, everywhere: Iterable[DriverSnapshot]) -> Limitation:
    if sent.position is None or sent.limit is None:
        return place.limited_by(Party.NONE)
    if not _is_connected(place, sent, sent.limit):
        return place.limited_by(Party.NOT_CONNECTED)
    is_limited = _is_at_limit(place, sent)
    slowest = sent.slowest
    is_reader_slowest = slowest is not None and (
        sent.sender_position is None or slowest.position < sent.sender_position
    )
    if is_limited and slowest is not None and is_reader_slowest:
        return place.limited_by(
            Party.SUBSCRIBER,
            lag(sent.position, slowest.position),
            is_publisher_limited=True,
            at=place,
            subscriber=slowest,
        )
    if sent.kind is StreamKind.NETWORK and _is_sender_stopped(place, sent):
        return _of_receivers(place, sent, everywhere, is_limited=is_limited)
    if not is_limited or sent.sender_position is None:
        return place.limited_by(Party.NONE)
    party = Party.PEER if sent.kind is StreamKind.CONNECTION else Party.SENDER
    return place.limited_by(party, sent.unsent, is_publisher_limited=True)


def _is_connected(place: _Log, sent: SentStream, limit: int) -> bool:
    if sent.sender_position is None:
        return bool(sent.subscribers)
    parameters = place.snapshot.logs.get(sent.registration_id)
    if parameters is not None:
        return parameters.is_connected
    is_spy_behind = sent.slowest is not None and sent.slowest.position < sent.sender_position
    return limit > sent.sender_position or is_spy_behind


def _is_at_limit(place: _Log, sent: SentStream) -> bool:
    parameters = place.snapshot.logs.get(sent.registration_id)
    window = None if parameters is None else parameters.publisher_window
    if window is None:
        consumers = [each.position for each in sent.subscribers]
        if sent.sender_position is not None:
            consumers.append(sent.sender_position)
        window = lag(sent.limit, min(consumers, default=None))
    remaining = sent.publisher_window
    return window is not None and remaining is not None and remaining <= window // _PUBLISHER_STEPS


def _is_sender_stopped(place: _Log, sent: SentStream) -> bool:
    unsent, window = sent.unsent, sent.sender_window
    if unsent is None or window is None:
        return False
    parameters = place.snapshot.logs.get(sent.registration_id)
    return window < min(unsent, _DEFAULT_MTU if parameters is None else parameters.mtu)


def _of_receivers(
    place: _Log, sent: SentStream, everywhere: Iterable[DriverSnapshot], *, is_limited: bool
) -> Limitation:
    """Return what keeps the receivers of a publication, whose sender is stopped, from extending their window."""
    limit = sent.sender_limit or 0
    images = list(_images_of(place, everywhere))
    nearest = min(images, key=lambda each: abs(_limit_of(*each) - limit), default=None)
    if nearest is None:
        return place.limited_by(Party.RECEIVER, sent.unsent, is_publisher_limited=is_limited)
    where, image = nearest
    under_way = lag(sent.sender_position, image.high_water_mark) or 0
    party, behind = _cause_of(image)
    if party is Party.NONE or under_way > behind:
        window = _known_window(where, image)
        is_other = window is not None and _limit_of(where, image) - limit > window // 2
        return place.limited_by(
            Party.RECEIVER,
            sent.unsent,
            is_publisher_limited=is_limited,
            at=None if is_other else where,
        )
    subscriber = image.slowest if party is Party.SUBSCRIBER else None
    return place.limited_by(party, behind, is_publisher_limited=is_limited, at=where, subscriber=subscriber)


def _limit_of(place: _Log, image: ReceivedStream) -> int:
    """Return the position up to which the receiver of an image allows sending."""
    return _consumed(image) + _receiver_window(place, image)


def _images_of(place: _Log, everywhere: Iterable[DriverSnapshot]) -> Iterator[tuple[_Log, ReceivedStream]]:
    for snapshot in everywhere:
        stream = snapshot.stream(place.stream.stream_id, place.stream.session_id)
        if stream is None:
            continue
        earlier = place.earlier if snapshot is place.snapshot else None
        for image in stream.images.values():
            if image.position is not None:
                yield _Log(snapshot, stream, image, earlier), image


def _consumed(image: ReceivedStream) -> int:
    # What status messages report: the position of the slowest subscriber.
    position = image.position or 0
    return position if image.slowest is None else min(image.slowest.position, position)


def _cause_of(image: ReceivedStream) -> tuple[Party, int]:
    """Return whether more of an image waits for its subscribers or behind a gap, and how many bytes."""
    unread = 0 if image.slowest is None else lag(image.position, image.slowest.position) or 0
    lost = lag(image.high_water_mark, image.position) or 0
    if not unread and not lost:
        return Party.NONE, 0
    return (Party.SUBSCRIBER, unread) if unread >= lost else (Party.LOSS, lost)


def _of_image(place: _Log, image: ReceivedStream) -> Limitation:
    used = lag(image.high_water_mark, _consumed(image))
    if not image.subscribers:
        return place.limited_by(Party.NOT_CONNECTED)
    if used is None or used < _receiver_window(place, image) * (_RECEIVER_STEPS - 1) // _RECEIVER_STEPS:
        return place.limited_by(Party.NONE)
    party, behind = _cause_of(image)
    subscriber = image.slowest if party is Party.SUBSCRIBER else None
    return place.limited_by(party, behind, at=place, subscriber=subscriber)


def _receiver_window(place: _Log, image: ReceivedStream) -> int:
    return _known_window(place, image) or _DEFAULT_RECEIVER_WINDOW


def _known_window(place: _Log, image: ReceivedStream) -> int | None:
    """Return the window of an image, None if neither a counter nor its log could be read."""
    if image.window is not None:
        return image.window
    parameters = place.snapshot.logs.get(image.registration_id)
    if parameters is None:
        return None
    return parameters.receiver_window or min(_DEFAULT_RECEIVER_WINDOW, parameters.term_length // 2)


def _is_multicast(endpoint: str) -> bool:
    """Return whether an endpoint, `host:port` or `[host]:port`, is a multicast address of IPv4 or IPv6."""
    host = endpoint.rpartition(":")[0].strip("[]")
    first = host.partition(".")[0]
    is_ip4 = first.isdecimal() and _FIRST_MULTICAST <= int(first) <= _LAST_MULTICAST
    return is_ip4 or (":" in host and host.lower().startswith("ff"))
