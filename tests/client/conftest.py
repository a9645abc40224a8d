"""Publications and subscriptions without a driver, and a driver double that answers commands."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from driver_double import LIMIT, TERM_LENGTH, DriverDouble

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core._native.counter import AtomicCounter
from aeron_core.client.aeron import Aeron
from aeron_core.client.connecting import connect
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.client.publications.publication import Publication
from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.subscriptions.image import Image
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.metadata import LogBufferParams
from aeron_core.settings.models import ClientSettings


@dataclass
class Stream:
    """A log in memory with a publication, and a subscription that reads it."""

    log: LogBuffer
    values: AtomicBuffer
    publication: Any
    subscription: Subscription
    image: Image

    @property
    def position_counter(self) -> AtomicCounter:
        return AtomicCounter(self.values, 1)

    def set_limit(self, position: int) -> None:
        AtomicCounter(self.values, 0).set(position)

    def read(self) -> list[bytes]:
        """Return the fragments that one poll delivers."""
        fragments: list[bytes] = []
        self.subscription.poll(lambda buffer, header: fragments.append(bytes(buffer)), 1000)
        return fragments


def new_log(session_id: int = 11, **changes: Any) -> LogBuffer:
    fields = {"initial_term_id": 7, "term_length": TERM_LENGTH, "mtu_length": 1408, "stream_id": 22}
    params = LogBufferParams(session_id=session_id, **(fields | changes))
    log = LogBuffer.initialize(AtomicBuffer.allocate(params.log_length), params)
    log.set_is_connected(True)
    return log


@pytest.fixture
def make_log() -> Callable[..., LogBuffer]:
    return new_log


def make_image(log: LogBuffer, session_id: int = 11, subscription: Subscription | None = None) -> Image:
    return Image(
        subscription,
        session_id,
        log,
        AtomicCounter(AtomicBuffer.allocate(128), 0),
        "aeron:ipc",
        session_id + 1000,
    )


@pytest.fixture(params=[Publication, ExclusivePublication])
def stream(request: pytest.FixtureRequest) -> Stream:
    """Return a stream of 64 KiB terms and a limit of half a term, with either kind of publication."""
    return make_stream(request.param)


@pytest.fixture
def exclusive_stream() -> Stream:
    return make_stream(ExclusivePublication)


def make_stream(kind: type) -> Stream:
    log = new_log()
    values = AtomicBuffer.allocate(2 * wire.COUNTER_VALUE_LENGTH)
    limit = values.view(0, wire.COUNTER_VALUE_LENGTH)
    limit.put_i64(0, LIMIT)
    publication = kind(
        PublicationArguments(
            owner=None,  # type: ignore[arg-type] - never asked
            channel="aeron:ipc",
            stream_id=22,
            session_id=11,
            registration_id=1,
            original_registration_id=1,
            channel_status_id=-1,
            position_limit_id=0,
            log=log,
            limit=limit,
        )
    )
    subscription = Subscription(None, "aeron:ipc", 22, 2, -1)  # type: ignore[arg-type]
    image = Image(subscription, 11, log, AtomicCounter(values, 1), "aeron:ipc", 3)
    subscription.add_image(image)
    return Stream(log, values, publication, subscription, image)


@pytest.fixture
def images() -> Callable[..., tuple[Subscription, list[LogBuffer]]]:
    """Return a factory of subscriptions with images of several sessions, and of their logs."""

    def make(count: int) -> tuple[Subscription, list[LogBuffer]]:
        subscription = Subscription(None, "aeron:ipc", 22, 2, -1)  # type: ignore[arg-type]
        logs = [new_log(session_id) for session_id in range(count)]
        for session_id, log in enumerate(logs):
            subscription.add_image(make_image(log, session_id, subscription))
        return subscription, logs

    return make


@pytest.fixture
def clock() -> Clock:
    return Clock.manual(now_ns=1)


@pytest.fixture
def double(tmp_path: Path, clock: Clock) -> DriverDouble:
    """Return a driver double that runs only when a client waits for it or the test calls it."""
    return DriverDouble(tmp_path, clock)


@pytest.fixture
def make_client(double: DriverDouble, clock: Clock) -> Callable[..., Aeron]:
    """Return a factory of clients that run in the test's thread, on its manual clock."""

    def make(*, settings: dict[str, Any] | None = None, **arguments: Any) -> Aeron:
        return connect(
            double.directory,
            ClientSettings(**(settings or {})),
            clock=clock,
            use_conductor_invoker=True,
            driver_invoker=double.do_work,
            **arguments,
        )

    return make


@pytest.fixture
def aeron(make_client: Callable[..., Aeron]) -> Aeron:
    return make_client()
