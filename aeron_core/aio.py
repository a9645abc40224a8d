"""The asyncio interface of the client: coroutines and iterators that wait without blocking the event loop.

    publication = await aio.add_publication(aeron, "aeron:ipc", 1001)
    await aio.connected(publication, timeout=5)
    await aio.async_offer(publication, b"hello")
    async for message in aio.messages(subscription): ...

These functions poll: at once while there is work, then after sleeps that grow from 50 µs to 10 ms by default, which are
at least a hundred polls per second. A message that our driver, or a client of it, writes to the log ends the sleep of
`messages` at once. The limits of the sleeps are invented. Not here: the poll, the offer and the conductor themselves
(client).
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from aeron_core._native import wire
from aeron_core.client.publications.sending import error_of, is_final
from aeron_core.client.subscriptions.action import Action
from aeron_core.client.subscriptions.controlled_fragment_assembler import ControlledFragmentAssembler
from aeron_core.errors import NotConnectedError

if TYPE_CHECKING:
    from aeron_core.bytes_like import BytesLike
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.awaitable import (
        CounterAdder,
        ExclusivePublicationAdder,
        InvokedClient,
        OfferedPublication,
        PendingResult,
        PolledSubscription,
        PublicationAdder,
        SubscriptionAdder,
    )
    from aeron_core.client.channel_peers import ChannelPeer
    from aeron_core.client.conductor.peer_watch import PeerRefusal
    from aeron_core.client.handlers import ImageHandler
    from aeron_core.client.loop_bells import LoopBell, LoopBells
    from aeron_core.client.owner import Connectable
    from aeron_core.client.publications.exclusive_publication import ExclusivePublication
    from aeron_core.client.publications.publication import Publication
    from aeron_core.client.subscriptions.header import Header
    from aeron_core.client.subscriptions.subscription import Subscription

T = TypeVar("T")

_MIN_SLEEP_S: Final = 0.00005
#: A shorter wait for a bell would end no earlier: event loops round up to milliseconds.
_MIN_WAIT_S: Final = 0.001
_MAX_SLEEP_S: Final = 0.01
#: Rings without a message after which a coroutine sleeps. Invented.
_MAX_VAIN_RINGS: Final = 4
#: Turns of the event loop before the first sleep: about 0.2 ms if nothing else runs. Invented.
_SPIN_TURNS: Final = 16
#: The same before a wait that a bell ends early: coroutines of the loop may answer each other meanwhile. Invented.
_BELL_TURNS: Final = 2
#: Polls after which other tasks of the loop run, even if more messages are available. Invented.
_MESSAGE_LIMIT: Final = 64
#: Counts the messages that `async_offer` has sent.
_accepted: Final = itertools.count(1)
#: Maximum fragments of one poll. Invented.
_FRAGMENT_LIMIT: Final = 64


@dataclass(slots=True)
class Backoff:
    """Sleeps that grow while there is no work, so that other tasks of the loop run."""

    max_sleep_s: float = _MAX_SLEEP_S  # the longest sleep, in seconds
    spin_turns: int = _SPIN_TURNS  # turns of the event loop before the first sleep
    _turns: int = field(default=0, init=False)  # since the last work
    _sleep_s: float = field(default=0.0, init=False)

    def reset(self) -> None:
        """Let the next `idle` begin again; call it after work."""
        self._turns = 0
        self._sleep_s = 0.0

    async def idle(self) -> None:
        """Let other tasks run without a sleep, `spin_turns` times; then sleep, for longer each time."""
        await asyncio.sleep(self.next_sleep_s())

    def next_sleep_s(self) -> float:
        """Return the seconds of the next sleep, 0 for the first ones."""
        if self._turns < self.spin_turns:
            # An event loop sleeps for a millisecond at least, which is longer than most round trips.
            self._turns += 1
        else:
            self._sleep_s = min(max(2 * self._sleep_s, _MIN_SLEEP_S), self.max_sleep_s)
        return self._sleep_s


class Arrivals:
    """Waits for messages of one subscription: those of `Backoff`, which the bell of the event loop ends early.

    Used in one event loop; `close` gives the bell back.
    """

    def __init__(self, subscription: PolledSubscription, max_sleep_s: float) -> None:
        self._subscription = subscription
        self._backoff = Backoff(max_sleep_s)
        self._bells: LoopBells | None = None
        self._bell: LoopBell | None = None
        self._rearmed = 0

    def reset(self) -> None:
        """Let the next `idle` begin again; call it after work."""
        self._backoff.reset()
        self._rearmed = 0

    async def idle(self) -> None:
        """Let other tasks run without a sleep a few times; then wait for a message, for longer each time."""
        sleep_s = self._backoff.next_sleep_s()
        bell = self._find_bell() if sleep_s else None
        if bell is None:
            await asyncio.sleep(sleep_s)
            return
        images = self._subscription.images
        if not bell.arm(images):
            await bell.wait(images, max(sleep_s, _MIN_WAIT_S))
            return
        # A message that was stored before the bell was armed does not ring: poll once more before the wait.
        self._rearmed += 1
        if self._rearmed > _MAX_VAIN_RINGS:
            # Rings without a message, such as those of another stream that shares the mask: do not follow their pace.
            await asyncio.sleep(sleep_s)

    def close(self) -> None:
        """Give the bell back; repeating it has no effect."""
        if self._bells is not None and self._bell is not None:
            self._bells.release(self._bell)
        self._bells = self._bell = None

    def _find_bell(self) -> LoopBell | None:
        bells = self._subscription.loop_bells
        if bells is not self._bells:
            # The first time, or a resilient client has found another driver.
            self.close()
            self._bells = bells
            self._bell = None if bells is None else bells.acquire()
            self._backoff.spin_turns = _SPIN_TURNS if self._bell is None else _BELL_TURNS
        return self._bell


@dataclass(frozen=True, slots=True)
class Message:
    """A whole message; `data` is a copy of its payload."""

    data: bytes  # the payload
    position: int  # of the stream after the message, in bytes
    session_id: int  # of its publication
    stream_id: int  # of its publication
    reserved_value: int  # 64 bits of the header for use by the application

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class PeerAdded:
    """Event: a peer connected to a channel, or was already connected when `peer_events` began."""

    peer: ChannelPeer  # the peer that connected


@dataclass(frozen=True, slots=True)
class PeerRemoved:
    """Event: a peer disconnected."""

    peer: ChannelPeer  # the peer that disconnected


async def messages(
    subscription: PolledSubscription, *, max_sleep_s: float = _MAX_SLEEP_S
) -> AsyncIterator[Message]:
    """Yield whole messages until the subscription is closed.

    A message is consumed when it is yielded: after a `break` the following messages are left to the next poll.
    Fragments that were read of an incomplete message are lost with the iterator: after a `break` only those of other
    images, after a cancelled wait those of any image. Raises ProtocolError for an invalid frame.
    """
    arrived: list[Message] = []

    def take(buffer: memoryview, header: Header) -> Action:
        if arrived:
            # BREAK ended the poll of one image only: leave the messages of other images for the next poll.
            return Action.ABORT
        arrived.append(
            Message(
                bytes(buffer), header.position, header.session_id, header.stream_id, header.reserved_value
            )
        )
        return Action.BREAK

    assembler = ControlledFragmentAssembler(take)
    arrivals = Arrivals(subscription, max_sleep_s)
    try:
        while not subscription.is_closed:
            for _ in range(_MESSAGE_LIMIT):
                if subscription.controlled_poll(assembler, _FRAGMENT_LIMIT) == 0:
                    break
                arrivals.reset()
                if arrived:
                    yield arrived.pop()
            await arrivals.idle()
    finally:
        arrivals.close()


async def async_offer(
    publication: OfferedPublication,
    data: BytesLike | list[BytesLike] | tuple[BytesLike, ...],
    timeout: float | None = None,
    *,
    reserved_value: int = 0,
    peer: int | None = None,
) -> int:
    """Offer until the message is accepted, and return the stream position after it in bytes.

    Waits at most `timeout` seconds, None for no limit; then raises NotConnectedError or SendTimeoutError. Raises
    without further waiting: ClosedError, MaxPositionExceededError, NotConnectedError for a `peer` that is not
    connected, and the errors of `Publication.offer`. Lets other tasks run after each 64th message, of all publications.
    """
    backoff: Backoff | None = None
    deadline_s = 0.0
    while True:
        position = publication.offer(data, reserved_value=reserved_value, peer=peer)
        if position >= 0:
            if not next(_accepted) % _MESSAGE_LIMIT:
                # A coroutine that only offers would keep the event loop until the window is full.
                await asyncio.sleep(0)
            return position
        if position == wire.RESULT_ADMIN_ACTION:
            continue
        if backoff is None:
            # Most messages are accepted at once.
            backoff, deadline_s = Backoff(), _deadline_s(timeout)
        if position == wire.RESULT_CLOSED:
            # Raises at once: from the error that closed the client, if it is closed.
            publication.await_connected(0)
        if is_final(position) or _now_s() >= deadline_s:
            raise error_of(publication, position, timeout, peer)
        await backoff.idle()


async def peer_events(
    aeron: Aeron,
    resource: Publication | ExclusivePublication | Subscription,
    *,
    max_sleep_s: float = _MAX_SLEEP_S,
) -> AsyncIterator[PeerAdded | PeerRemoved | PeerRefusal]:
    """Yield the events that `Aeron.watch_peers` reports: peers that connect, disconnect or are refused.

    Peers that are already connected are yielded first. Ends when the resource or the client is closed; the first
    step raises ClosedError if the client is closed already.
    """
    # The thread that runs the client's conductor appends, and the event loop removes: a deque allows both without a
    # lock.
    events: deque[PeerAdded | PeerRemoved | PeerRefusal] = deque()
    watch = aeron.watch_peers(
        resource,
        on_added=lambda peer: events.append(PeerAdded(peer)),
        on_removed=lambda peer: events.append(PeerRemoved(peer)),
        on_refused=events.append,
    )
    backoff = Backoff(max_sleep_s)
    try:
        # Before the iteration ends, yield the events that the close has caused.
        while events or not (watch.is_closed or aeron.is_closed):
            while events:
                backoff.reset()
                yield events.popleft()
            await backoff.idle()
    finally:
        watch.close()


async def connected(resource: Connectable, timeout: float | None = None) -> None:
    """Wait until a publication or subscription is connected, for at most `timeout` seconds, None for no limit.

    Raises NotConnectedError after that time, and ClosedError if `resource` is closed.
    """
    backoff = Backoff()
    deadline_s = _deadline_s(timeout)
    while not resource.is_connected:
        if resource.is_closed:
            # Raises at once: from the error that closed the client, if it is closed.
            resource.await_connected(0)
        if _now_s() >= deadline_s:
            raise NotConnectedError(
                f"{resource!r}: not connected within {timeout} s: start its peer for the same channel and stream, or "
                "as many receivers as the flow control of a publication requires, or use a longer timeout"
            )
        await backoff.idle()


async def result(registration: PendingResult[T]) -> T:
    """Wait for the result of a registration and return it; cancelling the wait cancels the registration.

    Raises the same errors as `Registration.poll`.
    """
    backoff = Backoff()
    try:
        while (value := registration.poll()) is None:
            await backoff.idle()
    except asyncio.CancelledError:
        registration.cancel()
        raise
    return value


async def add_publication(aeron: PublicationAdder[T], channel: str, stream_id: int) -> T:
    """Add a shared publication and wait for the driver; raises the same errors as `Aeron.add_publication`."""
    return await result(aeron.add_publication_async(channel, stream_id))


async def add_exclusive_publication(aeron: ExclusivePublicationAdder[T], channel: str, stream_id: int) -> T:
    """Add an exclusive publication and wait for the driver; raises the same errors as `Aeron.add_publication`."""
    return await result(aeron.add_exclusive_publication_async(channel, stream_id))


async def add_subscription(
    aeron: SubscriptionAdder[T],
    channel: str,
    stream_id: int,
    *,
    on_available_image: ImageHandler | None = None,
    on_unavailable_image: ImageHandler | None = None,
) -> T:
    """Add a subscription and wait for the driver; raises the same errors as `Aeron.add_subscription`.

    The handlers are called for each image added or removed, on the thread that runs the client's conductor or closes
    the subscription; None: the handlers in the client's `ClientHandlers`.
    """
    return await result(
        aeron.add_subscription_async(
            channel,
            stream_id,
            on_available_image=on_available_image,
            on_unavailable_image=on_unavailable_image,
        )
    )


async def add_counter(aeron: CounterAdder[T], type_id: int, key: bytes = b"", label: str = "") -> T:
    """Add a counter that is freed with the client at the latest, and wait for the driver.

    Raises the same errors as `Aeron.add_counter`, such as ValueError for a key of more than 112 bytes, or a label of
    more than 380 bytes of UTF-8.
    """
    return await result(aeron.add_counter_async(type_id, key, label))


async def run_conductor(aeron: InvokedClient, *, max_sleep_s: float = _MAX_SLEEP_S) -> None:
    """Run the conductor of a client without a conductor thread, until the client is closed or the task is cancelled."""
    backoff = Backoff(max_sleep_s)
    while not aeron.is_closed:
        if aeron.do_work() > 0:
            backoff.reset()
        await backoff.idle()


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _deadline_s(timeout: float | None) -> float:
    return float("inf") if timeout is None else _now_s() + timeout
