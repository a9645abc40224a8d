"""A driver, an archive double and a client of it, all in the test's thread and on a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from aeron_core import MediaDriver, connect
from aeron_core._native.clock import Clock
from aeron_core.archive import AeronArchive, AsyncAeronArchive
from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler
from aeron_core.protocol.archive import requests
from aeron_core.protocol.archive.codes import ControlResponseCode
from aeron_core.protocol.archive.requests import decode_request
from aeron_core.protocol.archive.responses import Challenge, ControlResponse
from aeron_core.settings.models import ClientSettings

MS = 1_000_000
SECOND = 1_000 * MS
SESSION_ID = 77
ARCHIVE_ID = 42
VERSION = 1 << 16 | 12 << 8
SMALL = {"ipc_term_buffer_length": 65536, "timer_interval_ns": "100ms"}


class ArchiveDouble:
    """Answers requests on `aeron:ipc`, stream 10: each with 0, unless `answers` has others for its class."""

    def __init__(self, aeron: Any) -> None:
        self.aeron = aeron
        self.received: list[Any] = []
        #: For each class of requests a function that returns the messages that answer one.
        self.answers: dict[type, Callable[[Any], list[Any]]] = {}
        self.version = VERSION
        self.challenge: bytes | None = None
        self.challenges_again = False
        self.refuses = False
        self.is_silent = False
        self.publication: Any = None
        #: A message that is sent without end.
        self.floods: Any = None
        self._pending: list[bytes] = []
        self._subscription = aeron.add_subscription("aeron:ipc", 10)
        self._assembler = FragmentAssembler(lambda buffer, _: self._on_request(bytes(buffer)))
        self._added: Any = None

    @property
    def last(self) -> Any:
        """The last request about recordings."""
        return self.received[-1]

    def do_work(self) -> None:
        if not self._subscription.is_closed:
            self._subscription.poll(self._assembler, 10)
        if self._added is not None and self.publication is None:
            self.publication = self._added.poll()
        if self.publication is not None and not self.publication.is_closed:
            while self.floods is not None and self.publication.offer(self.floods.encode()) > 0:
                pass
            while self._pending and self.publication.offer(self._pending[0]) > 0:
                self._pending.pop(0)

    def send(self, *messages: Any) -> None:
        self._pending += [message if isinstance(message, bytes) else message.encode() for message in messages]

    def ok(self, request: Any, relevant_id: int = 0) -> ControlResponse:
        return ControlResponse(
            SESSION_ID, request.correlation_id, relevant_id, ControlResponseCode.OK, self.version, ""
        )

    def error(self, request: Any, code: int, text: str = "no") -> ControlResponse:
        return ControlResponse(
            SESSION_ID, request.correlation_id, code, ControlResponseCode.ERROR, self.version, text
        )

    def close(self) -> None:
        """End the session, as an archive that stops."""
        self._subscription.close()
        self.publication.close()

    def _on_request(self, data: bytes) -> None:
        request = decode_request(data)
        self.received.append(request)
        if self.is_silent:
            return
        match request:
            case requests.AuthConnectRequest():
                self.publication = None
                self._added = self.aeron.add_exclusive_publication_async(
                    request.response_channel, request.response_stream_id
                )
                if self.challenge is not None:
                    self.send(Challenge(SESSION_ID, request.correlation_id, self.version, self.challenge))
                else:
                    self._admit(request)
            case requests.ChallengeResponse() if self.challenges_again:
                self.send(Challenge(SESSION_ID, request.correlation_id, self.version, b"again?"))
            case requests.ChallengeResponse():
                self._admit(request)
            case requests.ArchiveIdRequest():
                self.send(self.ok(request, ARCHIVE_ID))
            case requests.KeepAliveRequest() | requests.CloseSessionRequest():
                pass
            case _:
                self.send(*self.answers.get(type(request), lambda request: [self.ok(request)])(request))

    def _admit(self, request: Any) -> None:
        self.send(self.error(request, 10, "session rejected") if self.refuses else self.ok(request))


class World:
    """The driver, the double and the client; `step` lets a millisecond pass."""

    def __init__(self, directory: Path) -> None:
        self.clock = Clock.manual(now_ns=SECOND, epoch_ms=1000)
        self.driver = MediaDriver({"aeron_dir": directory, **SMALL}, invoker=True, clock=self.clock)
        self.double: Any = None
        self.double = ArchiveDouble(self._connect(directory))
        self.aeron = self._connect(directory)

    def _connect(self, directory: Path) -> Any:
        return connect(
            directory,
            ClientSettings(),
            clock=self.clock,
            use_conductor_invoker=True,
            driver_invoker=self.step,
        )

    def step(self) -> None:
        self.clock.advance(MS)
        self.driver.do_work()
        if self.double is not None:
            self.double.aeron.do_work()
            self.double.do_work()

    def run(self, count: int = 20) -> None:
        for _ in range(count):
            self.step()
            self.aeron.do_work()

    def connect(self, **options: Any) -> AeronArchive:
        return AeronArchive.connect(self.aeron, **self.options(options))

    async def connect_async(self, **options: Any) -> AsyncAeronArchive:
        return await AsyncAeronArchive.connect(self.aeron, **self.options(options))

    @staticmethod
    def options(changes: dict[str, Any]) -> dict[str, Any]:
        channels = {"control_request_channel": "aeron:ipc", "control_response_channel": "aeron:ipc"}
        return {**channels, "message_timeout": 1, **changes}

    def in_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine and return its result; driver, double and client run beside it."""

        async def beside() -> None:
            while True:
                self.run(1)
                await asyncio.sleep(0)

        async def main() -> Any:
            task = asyncio.create_task(beside())
            try:
                return await coroutine
            finally:
                task.cancel()

        return asyncio.run(main())

    def close(self) -> None:
        self.aeron.close()
        self.double.aeron.close()
        self.driver.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "driver")
    yield world
    world.close()


@pytest.fixture
def double(world: World) -> ArchiveDouble:
    return world.double


@pytest.fixture
def archive(world: World) -> AeronArchive:
    archive = world.connect()
    world.run()
    world.double.received.clear()
    return archive
