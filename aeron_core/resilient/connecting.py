"""Connecting of a resilient client: `connect`, which creates the client.

Not here: reconnecting (supervisor).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from aeron_core._native.clock import Clock
from aeron_core.client.connecting import client_fields, client_handlers
from aeron_core.resilient.aeron import ResilientAeron
from aeron_core.resilient.events import EventHandler, log_event
from aeron_core.resilient.policy import ReconnectPolicy
from aeron_core.resilient.supervisor import Supervisor

if TYPE_CHECKING:
    from aeron_core.client.handlers import ClientHandlers, ErrorHandler
    from aeron_core.settings.models import ClientSettings


def connect(  # noqa: PLR0913 - all optional, all by name but the first two
    aeron_dir: str | os.PathLike[str] | None = None,
    settings: ClientSettings | None = None,
    *,
    on_event: EventHandler = log_event,
    policy: ReconnectPolicy | None = None,
    clock: Clock | None = None,
    handlers: ClientHandlers | None = None,
    error_handler: ErrorHandler | None = None,
    use_conductor_invoker: bool | None = None,
    driver_invoker: Callable[[], object] | None = None,
) -> ResilientAeron:
    """Connect to the driver of `aeron_dir` and return a client that reconnects when the driver or the client is lost.

    The parameters of `aeron_core.connect` have the same meaning, and it raises the same errors if there is no driver
    now. `on_event` is called with each event, on the thread of the client; by default events are logged. `policy`
    limits and delays the attempts. With `use_conductor_invoker` there are no threads: call `ResilientAeron.do_work`
    often, which runs handlers and reconnects.
    """
    fields = client_fields(aeron_dir, settings, use_conductor_invoker)
    return ResilientAeron(
        Supervisor(
            fields,
            clock or Clock(),
            client_handlers(handlers, error_handler),
            driver_invoker,
            policy or ReconnectPolicy(),
            on_event,
        )
    )
