"""Dispatch of client commands, at most one from the ring per duty cycle.

A command that needs a name lookup, or the modules of a medium, stays unfinished until a helper thread has resolved
the name, or imported the modules. Later commands of the same client are queued behind it, except keepalives, the close
of the client, and the request to end the driver, so that a client gets its responses in order; commands of other
clients are not delayed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from aeron_core.concurrent.ring_buffer import ReadAction
from aeron_core.driver.conductor.commands.media_imports import MediumImport
from aeron_core.driver.conductor.error_sink import CommandRefusedError, code_of, text_of
from aeron_core.errors import ErrorCode, ProtocolError
from aeron_core.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core.driver.conductor.commands.client_resources import ClientResources
    from aeron_core.driver.conductor.commands.clients import Client, Clients
    from aeron_core.driver.conductor.commands.media_imports import MediaImports
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.names.name_resolution import Unfinished

#: Maximum number of commands in all queues; further ones that would be queued are refused. Chosen here: with channels
#: of usual length they take about 1 MB of memory.
MAX_WAITING: Final = 4096
#: Commands that are never queued: they do not depend on earlier ones and must not be delayed.
_IMMEDIATE: Final = (commands.ClientKeepalive, commands.ClientClose, commands.TerminateDriver)
#: Commands whose channel may be the first of its medium.
_WITH_MEDIA: Final = (
    commands.AddPublication,
    commands.AddExclusivePublication,
    commands.AddSubscription,
    commands.AddDestination,
    commands.AddRcvDestination,
)


class CommandHandler:
    """Reader of the to-driver ring, which executes its commands. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        clients: Clients,
        resources: ClientResources,
        imports: MediaImports,
        terminate: Callable[[bytes], None],
    ) -> None:
        self._context = context
        self._clients = clients
        self._resources = resources
        self._imports = imports
        self._terminate = terminate
        # Unfinished and queued commands by client id. Unlike the reference, which executes no command of any client
        # while it resolves a name, this driver delays only the client that waits for the name.
        self._unfinished: dict[int, tuple[commands.DriverCommand, Unfinished | MediumImport]] = {}
        self._waiting: dict[int, deque[commands.DriverCommand]] = {}
        self._waiting_count = 0

    def do_work(self) -> int:
        """Finish commands with resolved names, begin queued ones, and read one command from the ring.

        Returns the number of these, 0 if there was nothing to do. An error becomes an error response, an entry of the
        error log, or both.
        """
        work = self._resume() if self._unfinished or self._waiting else 0
        try:
            # One command per duty cycle, as in the reference (AERON_COMMAND_DRAIN_LIMIT): a command that
            # creates a log takes long, and events and timers must not wait for several of them.
            return work + self._context.to_driver.controlled_read(self._on_command, 1)
        except ProtocolError as error:
            self._context.errors.record_command(error, "to-driver ring buffer")
            return work + 1

    @property
    def is_busy(self) -> bool:
        """Whether commands are unfinished or queued."""
        return bool(self._unfinished or self._waiting)

    def forget(self, client_id: int) -> None:
        """Drop the unfinished and queued commands of a client that was removed."""
        self._unfinished.pop(client_id, None)
        self._waiting_count -= len(self._waiting.pop(client_id, ()))

    def _on_command(self, type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> ReadAction:
        try:
            command = commands.decode_command(type_id, buffer, offset, length)
        except ProtocolError as error:
            # A malformed command is consumed too: if it stayed in the ring, it would block all clients.
            self._on_malformed(error, buffer, offset, length)
            return ReadAction.CONTINUE
        self._context.events.on_message(command)
        client_id = command.client_id
        must_wait = client_id in self._unfinished or client_id in self._waiting
        if must_wait and not isinstance(command, _IMMEDIATE):
            self._queue(command)
        else:
            self._begin(command)
        return ReadAction.CONTINUE

    def _queue(self, command: commands.DriverCommand) -> None:
        # At the limit, refuse the command: left in the ring, it would block all commands behind it, such as those of
        # other clients and the request to shut the driver down.
        if self._waiting_count >= MAX_WAITING:
            error = CommandRefusedError(
                f"{MAX_WAITING} commands wait for names that are being resolved, the maximum: try again later, or "
                f"use addresses instead of names",
                ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
            )
            self._refuse(command, error)
            return
        self._waiting.setdefault(command.client_id, deque()).append(command)
        self._waiting_count += 1

    def _begin(self, command: commands.DriverCommand) -> None:
        try:
            # Any exception becomes an error response: the client waits for a response, and a plugin may raise
            # anything.
            unfinished = self._import_medium(command) or self._execute(command)
        except Exception as error:
            self._refuse(command, error)
            return
        if unfinished is None:
            return
        if _is_done(unfinished):
            self._finish(command, unfinished)
        else:
            self._unfinished[command.client_id] = (command, unfinished)

    def _import_medium(self, command: commands.DriverCommand) -> MediumImport | None:
        """Return the import of a medium that a command must wait for, None if it can be executed."""
        if not isinstance(command, _WITH_MEDIA):
            return None
        return self._imports.of(command.channel)

    def _finish(self, command: commands.DriverCommand, unfinished: Unfinished | MediumImport) -> None:
        try:
            if isinstance(unfinished, MediumImport):
                unfinished.result()
                # From the start: the command had no effect yet.
                self._begin(command)
                return
            future, resolved = unfinished
            resolved(future.result())
        except Exception as error:
            self._refuse(command, error)

    def _resume(self) -> int:
        work = 0
        for client_id, (command, unfinished) in list(self._unfinished.items()):
            if _is_done(unfinished):
                del self._unfinished[client_id]
                self._finish(command, unfinished)
                work += 1
        # At most one command per client and duty cycle, so that a long queue does not delay other clients.
        for client_id, waiting in list(self._waiting.items()):
            if client_id in self._unfinished:
                continue
            command = waiting.popleft()
            self._waiting_count -= 1
            if not waiting:
                del self._waiting[client_id]
            self._begin(command)
            work += 1
        return work

    def _execute(self, command: commands.DriverCommand) -> Unfinished | None:  # noqa: C901, PLR0911, PLR0912 - one case each
        match command:
            case commands.AddPublication() | commands.AddExclusivePublication():
                return self._resources.add_publication(self._client(command), command)
            case commands.AddSubscription():
                return self._resources.add_subscription(self._client(command), command)
            case commands.RemovePublication():
                # `get`, not `_client`: a removal adds no client, because an unknown client owns nothing to remove.
                self._resources.remove_publication(self._clients.get(command.client_id), command)
            case commands.RemoveSubscription():
                self._resources.remove_subscription(self._clients.get(command.client_id), command)
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
                self._resources.remove_counter(self._clients.get(command.client_id), command)
            case commands.AddRcvDestination():
                return self._resources.receive_destinations.add(command)
            case commands.RemoveRcvDestination():
                return self._resources.receive_destinations.remove(command)
            case _:
                self._execute_without_a_client(command)
        return None

    def _execute_without_a_client(self, command: commands.DriverCommand) -> None:
        # `_client` is not called: a process may send these commands without becoming a client of the driver.
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
                    f"command={command.TYPE_ID} ({type(command).__name__}) is not supported by this driver: use a "
                    f"client of a version that does not send it",
                    ErrorCode.NOT_SUPPORTED,
                )

    def _client(self, command: commands.DriverCommand) -> Client:
        return self._clients.get_or_add(command.client_id)

    def _refuse(self, command: commands.DriverCommand, error: BaseException) -> None:
        code = code_of(error)
        channel = getattr(command, "channel", "")
        # This code asks the client to try again, so it is not an error of the driver. The reference does
        # not log it either.
        if code is not ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
            self._context.errors.record_command(error, type(command).__name__, channel)
        self._context.clients.on_error(command.correlation_id, int(code), text_of(error, channel))

    def _on_malformed(self, error: ProtocolError, buffer: AtomicBuffer, offset: int, length: int) -> None:
        # Answer a malformed command too: without a response its client would wait until its own timeout.
        self._context.errors.record_command(error, "command")
        try:
            correlation_id = commands.DriverCommand.decode(buffer, offset, length).correlation_id
        except ProtocolError:
            # The command is too short to contain a correlation id. Answer with 0, an id that no client uses.
            correlation_id = 0
        self._context.clients.on_error(correlation_id, int(code_of(error)), text_of(error))


def _is_done(unfinished: Unfinished | MediumImport) -> bool:
    return (unfinished if isinstance(unfinished, MediumImport) else unfinished[0]).done()
