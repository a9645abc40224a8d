"""Liveness of driver and client: checks of the driver's heartbeat, and the client's own.

    every keepalive interval    The driver's heartbeat must not be older than the driver timeout. The client stores the
                                time in its own heartbeat, a counter that the driver allocates with the client's first
                                resource.
    every duty cycle            The previous cycle must not be longer ago than the driver's client liveness timeout:
                                otherwise the driver may have timed the client out, and its counters may belong to
                                other clients.

Source: aeron_client_conductor.c, aeron_client_conductor_check_liveness, …_on_check_timeouts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core.concurrent.counter_types import CLIENT_HEARTBEAT
from aeron_core.concurrent.counters import NULL_COUNTER_ID, CountersReader
from aeron_core.concurrent.heartbeat_age import HeartbeatAge
from aeron_core.errors import ClientTimeoutError, DriverTimeoutError
from aeron_core.version import SOFTWARE_VERSION

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core._native.counter import AtomicCounter
    from aeron_core.client.conductor.driver_proxy import DriverProxy
    from aeron_core.settings.client import ClientFields

_NS_PER_MS: Final = 1_000_000


class Liveness:
    """Liveness of one client and its driver. For the client's conductor.

    A client that `outlives_driver` stays open when the driver has closed: its log buffers still have unread data.
    `closed_error` is set then, the error of commands that the driver does not answer any more.
    """

    def __init__(
        self,
        settings: ClientFields,
        driver: DriverProxy,
        counters: CountersReader,
        clock: Clock,
        inter_service_timeout_ns: int,
    ) -> None:
        self._settings = settings
        self._driver = driver
        self._counters = counters
        self._clock = clock
        self._inter_service_timeout_ns = inter_service_timeout_ns
        self.outlives_driver = False
        self.closed_error: DriverTimeoutError | None = None
        self._last_service_ns = self._last_keepalive_ns = clock.nano_time()
        self._heartbeat: AtomicCounter | None = None
        self._driver_age = HeartbeatAge()
        self._driver_age_ms(self._last_service_ns)

    def check(self, now_ns: int) -> int:
        """Run the checks that are due; return 1 if the keepalive interval had passed, else 0.

        After this interval, stores the client's heartbeat. Raises ClientTimeoutError if the conductor did not run for
        the client liveness timeout or the heartbeat counter was freed; DriverTimeoutError if the driver has ended or
        its heartbeat is older than the driver timeout.
        """
        interval_ns = now_ns - self._last_service_ns
        if interval_ns > self._inter_service_timeout_ns:
            raise ClientTimeoutError(
                f"the client's conductor did not run for {interval_ns // _NS_PER_MS} ms, and the driver "
                f"times clients out after {self._inter_service_timeout_ns // _NS_PER_MS} ms: connect again, and run "
                "the conductor more often or raise client_liveness_timeout_ns of the driver"
            )
        self._last_service_ns = now_ns
        if now_ns - self._last_keepalive_ns < self._settings.keepalive_interval_ns:
            return 0
        self._last_keepalive_ns = now_ns
        self._check_driver(now_ns)
        self._keep_alive(self._clock.epoch_ms())
        return 1

    def driver_beat_ns(self, now_ns: int) -> int:
        """Return the time of the driver's last heartbeat in nanoseconds, on the clock of `now_ns`."""
        return now_ns - self._driver_age_ms(now_ns) * _NS_PER_MS

    def _driver_age_ms(self, now_ns: int) -> int:
        return self._driver_age.check(self._driver.heartbeat_ms, self._clock.epoch_ms(), now_ns)

    def _check_driver(self, now_ns: int) -> None:
        if self._driver.heartbeat_ms < 0:
            error = DriverTimeoutError(
                f"the media driver of {self._settings.aeron_dir} has ended: start it, then connect again"
            )
            if not self.outlives_driver:
                raise error
            self.closed_error = error
            return
        age_ms = self._driver_age_ms(now_ns)
        if age_ms > self._settings.driver_timeout_ms:
            raise DriverTimeoutError(
                f"the last heartbeat of the media driver of {self._settings.aeron_dir} is {age_ms} ms old, more "
                f"than the driver timeout of {self._settings.driver_timeout_ms} ms: restart the driver if it has "
                "stopped, or raise driver_timeout_ms, and connect again"
            )

    def _keep_alive(self, now_ms: int) -> None:
        if self._heartbeat is None:
            counter_id = self._counters.find(CLIENT_HEARTBEAT, self._driver.client_id)
            if counter_id == NULL_COUNTER_ID:
                return
            self._heartbeat = self._counters.counter(counter_id)
            self._append_to_label(counter_id)
        elif not self._is_own(self._heartbeat.id):
            raise ClientTimeoutError(
                f"the heartbeat counter {self._heartbeat.id} of client {self._driver.client_id} was freed or reused: "
                "the driver timed the client out or closed it: connect again"
            )
        self._heartbeat.set_release(now_ms)

    def _is_own(self, counter_id: int) -> bool:
        return (
            self._counters.state(counter_id) == wire.COUNTER_STATE_ALLOCATED
            and self._counters.type_id(counter_id) == CLIENT_HEARTBEAT
            and self._counters.registration_id(counter_id) == self._driver.client_id
        )

    def _append_to_label(self, counter_id: int) -> None:
        """Append name, version and process id of the client to the label of its heartbeat, as far as they fit."""
        metadata = self._counters.metadata
        at = counter_id * wire.COUNTER_METADATA_LENGTH
        length = metadata.get_i32(at + wire.COUNTER_LABEL_LENGTH_OFFSET)
        available = wire.COUNTER_LABEL_MAX_LENGTH - length
        text = f" name={self._settings.client_name} {SOFTWARE_VERSION} pid={os.getpid()}".encode(
            "ascii", "replace"
        )[: max(available, 0)]
        if 0 <= length <= wire.COUNTER_LABEL_MAX_LENGTH:
            metadata.put_bytes(at + wire.COUNTER_LABEL_OFFSET + length, text)
            # Release: a reader that loads the new length with acquire sees the text.
            metadata.put_i32_release(at + wire.COUNTER_LABEL_LENGTH_OFFSET, length + len(text))
