"""A resilient client on a manual clock, with driver doubles that replace each other in one directory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from driver_double import DriverDouble

from aeron_core import ClientHandlers, ClientSettings, resilient
from aeron_core._native.clock import Clock

MS = 1_000_000
SECOND = 1_000 * MS
STEP_NS = 10 * MS


@dataclass
class Scene:
    """A client without threads, the driver of its directory, and what the client has reported."""

    directory: Path
    clock: Clock = field(default_factory=lambda: Clock.manual(now_ns=SECOND))
    events: list[Any] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    closes: list[int] = field(default_factory=list)
    drivers: list[DriverDouble] = field(default_factory=list)
    client: Any = None
    is_dead: bool = False

    @property
    def driver(self) -> DriverDouble:
        return self.drivers[-1]

    def start_driver(self, **changes: Any) -> DriverDouble:
        """Start a driver as the successor of one that may have been there, with other ids than that one."""
        (self.directory / "cnc.dat").unlink(missing_ok=True)
        driver = DriverDouble(self.directory, self.clock, **changes)
        for _ in range(1000 * len(self.drivers)):
            driver.ring.next_correlation_id()
        self.drivers.append(driver)
        self.is_dead = False
        return driver

    def kill_driver(self) -> None:
        self.is_dead = True

    def stop_driver(self) -> None:
        """Shut the driver down in an orderly manner: the last heartbeat is -1."""
        self.driver.ring.consumer_heartbeat_ms = -1
        self.is_dead = True

    def invoke_driver(self) -> int:
        self.clock.advance(STEP_NS)
        if self.is_dead:
            return 0
        self.driver.beat()
        return self.driver.do_work()

    def connect(self, **changes: Any) -> resilient.ResilientAeron:
        settings = changes.pop("settings", {})
        self.client = resilient.connect(
            self.directory,
            ClientSettings(**settings),
            on_event=changes.pop("on_event", self.events.append),
            clock=self.clock,
            use_conductor_invoker=True,
            driver_invoker=self.invoke_driver,
            handlers=ClientHandlers(on_error=self.errors.append, on_close=lambda: self.closes.append(1)),
            **changes,
        )
        return self.client

    def run(self, seconds: float = 0.2) -> None:
        """Run driver and client for that time of the manual clock."""
        for _ in range(int(seconds * SECOND / STEP_NS)):
            if not self.is_dead:
                self.driver.beat()
                self.driver.do_work()
            self.client.do_work()
            self.clock.advance(STEP_NS)

    def lose(self) -> None:
        """Shut the driver down and let the client detect it."""
        self.stop_driver()
        self.run(1)

    def restart(self, seconds: float = 1) -> None:
        """Replace the driver, and let the client restore everything."""
        self.start_driver()
        self.run(seconds)

    def of_type(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Return a driver and a client that are connected."""
    scene = Scene(tmp_path)
    scene.start_driver()
    scene.connect()
    yield scene
    scene.client.close()


@pytest.fixture
def aeron(scene: Scene) -> resilient.ResilientAeron:
    return scene.client


@pytest.fixture
def collect() -> Callable[..., list[bytes]]:
    """Return a function that polls a subscription and returns the fragments."""

    def poll(subscription: Any, limit: int = 1000) -> list[bytes]:
        fragments: list[bytes] = []
        subscription.poll(lambda buffer, header: fragments.append(bytes(buffer)), limit)
        return fragments

    return poll
