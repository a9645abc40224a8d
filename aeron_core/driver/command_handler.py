"""Carries out the commands of clients, one at a time.

A command that needs a name looked up is not finished at once: no other is read until it is, so that commands are
answered in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.concurrent.ring_buffer import ReadAction
from aeron_core.driver.error_sink import code_of, text_of
from aeron_core.driver.refusal import CommandRefusedError
from aeron_core.errors import ErrorCode, ProtocolError
from aeron_core.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.driver.client import Client
    from aeron_core.driver.clients import Clients
    from aeron_core.driver.context import DriverContext
    from aeron_core.driver.resources import Resources, Unfinished


class CommandHandler:
    """Reads the to-driver ring. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        clients: Clients,
        resources: Resources,
        terminate: Callable[[bytes], None],
    ) -> None:
        self._context = context
        self._clients = clients
        self._resources = resources
        self._terminate = terminate
        self._unfinished: tuple[commands.Command, Unfinished] | None = None

    def do_work(self) -> int:
        """Carry out one command, or go on with the last; return 0 if there was none."""
        if self._unfinished is not None:
            return self._go_on()
        try:
            return self._context.to_driver.controlled_read(self._on_command, 1)
        except ProtocolError as error:
            self._context.errors.record_exception(error, "to-driver ring buffer")
            return 1

    def _on_command(self, type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> ReadAction:
        try:
            command = commands.decode_command(type_id, buffer, offset, length)
        except ProtocolError as error:
            self._on_malformed(error, buffer, offset, length)
            return ReadAction.CONTINUE
        try:
            unfinished = self._execute(command)
        except Exception as error:
            self._refuse(command, error)
            return ReadAction.CONTINUE
        if unfinished is not None:
            self._unfinished = (command, unfinished)
            self._go_on()
        return ReadAction.CONTINUE

    def _go_on(self) -> int:
        assert self._unfinished is not None
        command, (future, resolved) = self._unfinished
        if not future.done():
            return 0
        self._unfinished = None
        try:
            # The client may have gone while its name was looked up.
            if self._clients.get(command.client_id) is not None:
                resolved(future.result())
        except Exception as error:
            self._refuse(command, error)
        return 1

    def _execute(self, command: commands.Command) -> Unfinished | None:
        match command:
            case commands.AddPublication() | commands.AddExclusivePublication():
                return self._resources.add_publication(self._client(command), command)
            case commands.AddSubscription():
                return self._resources.add_subscription(self._client(command), command)
            case commands.RemovePublication():
                self._resources.remove_publication(self._client(command), command)
            case commands.RemoveSubscription():
                self._resources.remove_subscription(self._client(command), command)
            case commands.AddDestination():
                return self._resources.destinations.add(command)
            case commands.RemoveDestination():
                return self._resources.destinations.remove(command)
            case commands.RemoveDestinationById():
                self._resources.destinations.remove_by_id(command)
            case commands.AddCounter():
                self._resources.add_counter(self._client(command), command)
            case commands.AddStaticCounter():
                self._client(command)
                self._resources.add_static_counter(command)
            case commands.RemoveCounter():
                self._resources.remove_counter(self._client(command), command)
            case _:
                self._execute_without_a_client(command)
        return None

    def _execute_without_a_client(self, command: commands.Command) -> None:
        # Commands for which nobody becomes a client who is none yet.
        match command:
            case commands.RejectImage():
                self._resources.rejections.reject(command)
            case commands.GetNextAvailableSessionId():
                self._resources.next_session_id(command)
            case commands.ClientKeepalive():
                self._clients.keep_alive(command.client_id)
            case commands.ClientClose():
                self._clients.on_close(command.client_id)
            case commands.TerminateDriver():
                self._terminate(command.token)
            case _:
                raise CommandRefusedError(
                    f"{type(command).__name__} is not supported by this driver", ErrorCode.NOT_SUPPORTED
                )

    def _client(self, command: commands.Command) -> Client:
        return self._clients.get_or_add(command.client_id)

    def _refuse(self, command: commands.Command, error: BaseException) -> None:
        code = code_of(error)
        if code is not ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
            self._context.errors.record_exception(error, type(command).__name__)
        self._context.clients.on_error(command.correlation_id, int(code), text_of(error))

    def _on_malformed(self, error: ProtocolError, buffer: AtomicBuffer, offset: int, length: int) -> None:
        # Where the correlation id can be read at all, the client is told rather than left to its timeout.
        self._context.errors.record_exception(error, "command")
        correlation_id = buffer.get_i64(offset + 8) if length >= 16 else 0
        self._context.clients.on_error(correlation_id, int(code_of(error)), text_of(error))
