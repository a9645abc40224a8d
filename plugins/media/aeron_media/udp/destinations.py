"""Destinations of a multi-destination channel.

    manual:  the conductor adds, moves and removes destinations; silent destinations stay, and are reported to it
    dynamic: a receiver that sends status messages is added if there is space, and removed if it is silent

Invariant: all methods run on the sender, except `order_...`, which the conductor calls.
Source: aeron_udp_destination_tracker.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cython

from aeron_core._native.commands import Command, CommandRing
from aeron_media._native import destination_table
from aeron_media._native.destination_table import DestinationTable

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.counter import AtomicCounter

#: How long a receiver may be silent. Source: AERON_UDP_DESTINATION_TRACKER_DESTINATION_TIMEOUT_NS.
TIMEOUT_NS: Final = 5_000_000_000
_ORDERS: Final = 64  # orders that wait for the sender; invented: it executes all of them in one cycle
_REPORTS: Final = 64  # reports that wait for the conductor; invented: others follow with the next sweep


class Destinations:
    """The destinations of one send endpoint, at most MAX_DESTINATIONS; `count`: counter of their number, or None."""

    _first: int

    def __init__(self, *, is_manual: bool, count: AtomicCounter | None) -> None:
        self._table = DestinationTable()
        self._is_manual = is_manual
        self._timeout_ns = TIMEOUT_NS
        if count is not None:
            self._count = count
        self._has_counter = count is not None
        self._orders = CommandRing(_ORDERS)
        self._order = Command()
        self._reports = CommandRing(_REPORTS)
        self._report = Command()

    def order_addition(self, address: SocketAddress, registration_id: int) -> bool:
        """Order the sender to add a destination, if the table has space; return False if the order ring is full."""
        return self._orders.send(destination_table.ORDER_ADD, values=(registration_id,), control=address)

    def order_removal(self, address: SocketAddress) -> bool:
        """Order the sender to remove a destination by its address; return False if the order ring is full."""
        return self._orders.send(destination_table.ORDER_REMOVE, control=address)

    def order_removal_by_id(self, registration_id: int) -> bool:
        """Order the sender to remove a destination by its registration id; return False if the order ring is full."""
        return self._orders.send(destination_table.ORDER_REMOVE_BY_ID, values=(registration_id,))

    def order_change(self, registration_id: int, address: SocketAddress) -> bool:
        """Order the sender to change the address of a destination; return False if the order ring is full."""
        return self._orders.send(destination_table.ORDER_CHANGE, values=(registration_id,), control=address)

    def order_reports(self) -> list[int]:
        """Return the registration ids of destinations that the sender found silent since the last call."""
        silent = []
        report = Command()
        while self._reports.receive(report):
            silent.append(report.values[0])
        return silent

    def start_round(self) -> int:
        """Begin a round of sends, at the next destination in turn, and return the number of destinations."""
        self._first += 1
        if self._first >= self._table.count:
            self._first = 0
        return self._table.count

    def copy_address(self, turn: int, into: SocketAddress) -> int:
        """Copy the address of the destination for `turn`, from 0 to the number of destinations - 1; return 0.

        The address is unset while its name is being resolved.
        """
        index = self._first + turn
        if index >= self._table.count:
            index -= self._table.count
        return self._table.copy_address(index, into)

    def on_status_message(self, receiver_id: int, source: SocketAddress, now_ns: int) -> int:
        """Record that a receiver is alive; in dynamic mode, add an unknown receiver if there is space. Return 0."""
        index = self._table.find_receiver(receiver_id, source)
        if index == destination_table.MAX_DESTINATIONS:
            if self._is_manual or not self._table.add(source, -1, now_ns):
                return 0
            index = self._table.count - 1
            if index == 0:
                self._sweep_deadline_ns = now_ns + self._timeout_ns
            self._publish_count()
        return self._table.note(index, receiver_id, now_ns)

    def registration_of(self, receiver_id: int, source: SocketAddress) -> int:
        """Return the registration id of a receiver's destination, -1 if it is unknown or was added dynamically."""
        index = self._table.find_receiver(receiver_id, source)
        if index == destination_table.MAX_DESTINATIONS:
            return -1
        return self._table.registration_of(index)

    def process(self, now_ns: int) -> int:
        """Execute orders of the conductor, and remove or report silent destinations; return 0."""
        while self._orders.poll(self._order):
            self._execute(now_ns)
        if self._table.count > 0 and now_ns > self._sweep_deadline_ns:
            if self._is_manual:
                self._report_silent(now_ns)
            else:
                self._forget_silent(now_ns)
        return 0

    def _execute(self, now_ns: int) -> int:
        operation = self._order.operation()
        if operation == destination_table.ORDER_ADD:
            self._table.add(self._order.control, self._order.value(0), now_ns)
            if self._table.count == 1:
                self._sweep_deadline_ns = now_ns + self._timeout_ns
            return self._publish_count()
        if operation == destination_table.ORDER_CHANGE:
            index = self._table.find_registration(self._order.value(0))
            if index != destination_table.MAX_DESTINATIONS:
                self._table.set_address(index, self._order.control)
            return 0
        if operation == destination_table.ORDER_REMOVE:
            return self._remove(self._table.find_address(self._order.control))
        return self._remove(self._table.find_registration(self._order.value(0)))

    def _remove(self, index: int) -> int:
        if index == destination_table.MAX_DESTINATIONS:
            return 0
        self._table.remove(index)
        return self._publish_count()

    def _forget_silent(self, now_ns: int) -> int:
        index = self._table.find_silent(now_ns - self._timeout_ns, 0)
        while index != destination_table.MAX_DESTINATIONS:
            # The removal moves the last row of the table to this index: continue the search there.
            self._table.remove(index)
            index = self._table.find_silent(now_ns - self._timeout_ns, index)
        if self._table.count > 0:
            self._sweep_deadline_ns = self._table.earliest_activity_ns() + self._timeout_ns
        return self._publish_count()

    def _report_silent(self, now_ns: int) -> int:
        self._sweep_deadline_ns = now_ns + self._timeout_ns
        index = self._table.find_silent(now_ns - self._timeout_ns, 0)
        while index != destination_table.MAX_DESTINATIONS:
            self._report.begin(destination_table.SILENT, cython.NULL)
            self._report.set_value(0, self._table.registration_of(index))
            if not self._reports.offer(self._report):
                return 0
            self._table.restart(index, now_ns)
            index = self._table.find_silent(now_ns - self._timeout_ns, index + 1)
        self._sweep_deadline_ns = self._table.earliest_activity_ns() + self._timeout_ns
        return 0

    def _publish_count(self) -> int:
        if self._has_counter:
            self._count.set_release(self._table.count)
        return 0
