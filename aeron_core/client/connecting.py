"""Connecting of a client to a driver: `connect`, which creates the client.

Not here: the cnc file (cnc_connection), and the client (aeron).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from aeron_core._native.clock import Clock
from aeron_core.client.aeron import Aeron
from aeron_core.client.conductor.cnc_connection import connect_cnc
from aeron_core.client.conductor.conductor import ClientConductor
from aeron_core.client.handlers import ClientHandlers, ErrorHandler
from aeron_core.settings.loader import load_client_fields

if TYPE_CHECKING:
    from aeron_core.settings.client import ClientFields
    from aeron_core.settings.models import ClientSettings


def connect(  # noqa: PLR0913 - all optional, all by name but the first two
    aeron_dir: str | os.PathLike[str] | None = None,
    settings: ClientSettings | None = None,
    *,
    clock: Clock | None = None,
    handlers: ClientHandlers | None = None,
    error_handler: ErrorHandler | None = None,
    use_conductor_invoker: bool | None = None,
    driver_invoker: Callable[[], object] | None = None,
) -> Aeron:
    """Connect to the driver of `aeron_dir` and return the client; wait until the driver is alive.

    Without `settings`, the settings are read from the environment; values that are clamped or ignored cause a
    Python warning. `error_handler` is a shorthand for handlers with only `on_error`. With `use_conductor_invoker`
    no thread is started: call `Aeron.do_work` often. `driver_invoker` is called while the client waits, to run a
    driver that has no thread of its own.

    Raises DriverTimeoutError if no driver is alive within the driver timeout, or this user may not open its `cnc.dat`;
    CncIncompatibleError if that file is damaged or has an incompatible version, StorageError if it cannot be mapped,
    ConfigurationError for a wrong setting, and ValueError for both `handlers` and `error_handler`.
    """
    fields = client_fields(aeron_dir, settings, use_conductor_invoker)
    handlers = client_handlers(handlers, error_handler)
    clock = clock or Clock()
    cnc = connect_cnc(fields, clock, pause=driver_invoker)
    return Aeron(ClientConductor(cnc, fields, clock, handlers, driver_invoker))


def connect_named(
    name: str,
    aeron_dir: str | os.PathLike[str] | None,
    error_handler: ErrorHandler | None = None,
    *,
    outlives_driver: bool = False,
) -> Aeron:
    """Return a client as `connect`, with `name` unless the settings name it; for clients that we open ourselves.

    `name`: at most 100 characters; `aeron-core top` and the dashboard show it. With `outlives_driver`, the client
    stays open when the driver closes: for a client in the driver's process, which is closed after it.
    """
    fields = client_fields(aeron_dir, None, None)
    if not fields.client_name:
        fields = fields.replaced(client_name=name)
    handlers, clock = client_handlers(None, error_handler), Clock()
    cnc = connect_cnc(fields, clock, pause=None)
    conductor = ClientConductor(cnc, fields, clock, handlers, None)
    if outlives_driver:
        conductor.outlive_driver()
    return Aeron(conductor)


def client_fields(
    aeron_dir: str | os.PathLike[str] | None,
    settings: ClientSettings | None,
    use_conductor_invoker: bool | None,
) -> ClientFields:
    """Return the settings that `connect` runs with; warns for its caller. For functions that connect."""
    fields: ClientFields | None = settings
    if fields is None:
        loaded = load_client_fields()
        for text in loaded.warnings:
            warnings.warn(text, stacklevel=3)
        fields = loaded.settings
    changes: dict[str, object] = {}
    if aeron_dir is not None:
        changes["aeron_dir"] = os.fspath(aeron_dir)
    if use_conductor_invoker is not None:
        changes["use_conductor_agent_invoker"] = use_conductor_invoker
    return fields.replaced(**changes) if changes else fields


def client_handlers(handlers: ClientHandlers | None, error_handler: ErrorHandler | None) -> ClientHandlers:
    """Return the handlers that `connect` runs with; raise ValueError if both are given."""
    if error_handler is None:
        return handlers or ClientHandlers()
    if handlers is not None:
        raise ValueError(
            "error_handler and handlers are both given: pass only one; set on_error of handlers instead of "
            "error_handler"
        )
    return ClientHandlers(on_error=error_handler)
