"""Imports of media by helper threads: the modules of a medium are imported when a command first names it.

Those of a medium with connections take some 100 ms of a processor, in which the conductor would neither execute
commands of other clients nor run its timers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aeron_core.driver.conductor.names.lookups import StartLookup
    from aeron_core.registry import Registry

_TABLE: Final = "aeron_media_transports"


class MediumImport:
    """Import of one medium, with the methods of a future. Made and asked by the conductor, run by a helper thread."""

    def __init__(self, registry: Registry, name: str) -> None:
        self._registry = registry
        self._name = name
        self._error: BaseException | None = None
        self._is_done = False

    def run(self) -> None:
        """Import the medium; raise nothing."""
        try:
            self._registry.import_entry(_TABLE, self._name)
        except BaseException as error:
            # Catch every exception: otherwise the import never ends, and the client blocks.
            self._error = error
        self._is_done = True

    def done(self) -> bool:
        """Return whether `run` has ended."""
        return self._is_done

    def result(self) -> None:
        """Raise the error of the import, if it had one."""
        if self._error is not None:
            raise self._error


class MediaImports:
    """The media that are being imported. Used by the conductor only."""

    def __init__(self, registry: Registry, start: StartLookup) -> None:
        self._registry = registry
        self._start = start
        self._running: dict[str, MediumImport] = {}

    def of(self, channel: str) -> MediumImport | None:
        """Return the import that a command for a channel must wait for; None if it can be executed.

        Starts the import if that is needed. Raises RuntimeError if the system cannot start a thread.
        """
        # Not parsed: a malformed channel names no medium, and its command is refused when it is executed.
        name = channel.partition("?")[0].rpartition(":")[2]
        running = self._running.get(name)
        if running is not None:
            # Also while `sys.modules` has the module already: an import of it would wait for the other thread.
            if not running.done():
                return running
            del self._running[name]
        if self._registry.is_imported(_TABLE, name):
            return None
        started = MediumImport(self._registry, name)
        self._start(started.run)
        if not started.done():
            self._running[name] = started
        return started
