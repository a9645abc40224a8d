"""Shipping run: ships files through each driver of a directory in turn, until a signal or until all is shipped.

Not here: the shipper (aeron_core.shipping) and the options of the command (ship).
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aeron_core.cli.connecting import checked_channels, connect_to_next_driver
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.shipping.shipped_files import ShippedFiles
from aeron_core.client.aeron import Aeron
from aeron_core.client.publications.exclusive_publication import ExclusivePublication
from aeron_core.errors import ClosedError, DriverTimeoutError, NotConnectedError
from aeron_core.shipping.confirmed_position import confirmed_position
from aeron_core.shipping.driver_errors import DriverErrors
from aeron_core.shipping.shipper import Shipper, ShipperParams

#: Pause while there is no work. Invented: short for a user, and negligible load for a processor.
_PAUSE_S: Final = 0.01
#: Interval between two checks for the next driver.
_CHECK_INTERVAL_S: Final = 0.2


@dataclass
class ShippingRun:
    """One run of the command; `timeout` and `drain` are seconds, no `timeout` is no limit."""

    params: ShipperParams
    shown: ShippedFiles
    interrupt: Interrupt
    channel: str
    stream_id: int
    timeout: float | None
    drain: float
    driver_errors: DriverErrors | None
    _arrived_s: float = field(default_factory=time.monotonic)
    _lines: int = 0
    _has_shipped: bool = False  # through any driver

    def run(self, aeron: Aeron | None, directory: Path | None) -> None:
        """Ship through `aeron`, and after its driver has shut down through the next one in `directory`.

        Returns after a signal, or when all is shipped if files are not followed. Raises ClosedError if the driver shuts
        down and `directory` is None, NotConnectedError if nothing is confirmed in time, ConfigurationError or
        RegistrationError for a channel that it refuses, DriverTimeoutError if the first one does not answer, and the
        errors of `Shipper`. A later one that does not answer counts as shut down.
        """
        while aeron is not None:
            try:
                self._ship_by(aeron)
            except ClosedError:
                if directory is None:
                    raise
                print_stderr(f"disconnected from the media driver of {directory}; waiting for a driver")
                aeron = self._next_driver(directory)
            else:
                return

    def _ship_by(self, aeron: Aeron) -> None:
        with aeron, closing(self._publication(aeron)) as publication:
            confirmed = confirmed_position(aeron, publication)
            with closing(Shipper(publication, confirmed, self.params)) as shipper:
                try:
                    self._ship(shipper)
                    self._settle(shipper)
                finally:
                    self.shown.add(shipper)

    def _publication(self, aeron: Aeron) -> ExclusivePublication:
        try:
            with checked_channels(publications=[self.channel]):
                publication = aeron.add_exclusive_publication(self.channel, self.stream_id)
            self._has_shipped = True
            return publication
        except DriverTimeoutError as error:
            if not aeron.is_closed:  # a driver that is alive but does not answer
                if not self._has_shipped:
                    raise
                # Like a driver that is missing: it may be overloaded, as after its own restart.
                print_stderr(f"warning: {error}")
            raise ClosedError(str(error)) from error

    def _next_driver(self, directory: Path) -> Aeron | None:
        """Return a client of the next driver, None after a signal; raise NotConnectedError after `timeout` seconds."""
        while not self.interrupt.wait(_CHECK_INTERVAL_S):
            if (aeron := connect_to_next_driver("ship", directory)) is not None:
                print_stderr(f"a media driver runs in {directory} again")
                return aeron
            self._check_silence()
        return None

    def _ship(self, shipper: Shipper) -> None:
        self._lines = 0
        while not self.interrupt and not (shipper.is_done and not self.params.follows):
            work = shipper.do_work(time.monotonic_ns())
            self.shown.show(shipper)
            if self.driver_errors is not None:
                self.driver_errors.poll()
            if shipper.is_done or shipper.lines != self._lines:
                self._arrived_s, self._lines = time.monotonic(), shipper.lines
            self._check_silence()
            if not work:
                shipper.wait()

    def _settle(self, shipper: Shipper) -> None:
        """Wait until messages in flight are confirmed, for at most `drain` seconds; raises as `Shipper.settle`."""
        deadline_s = time.monotonic() + self.drain
        while not shipper.settle(time.monotonic_ns()) and time.monotonic() < deadline_s:
            time.sleep(_PAUSE_S)

    def _check_silence(self) -> None:
        if self.timeout is not None and time.monotonic() - self._arrived_s >= self.timeout:
            raise NotConnectedError(
                f"nothing was confirmed on {self.channel} for {self.timeout:g} s: start its receiver, "
                "and its media driver if none runs, or raise --timeout"
            )
