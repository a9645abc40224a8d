"""All settings of a client, without pydantic.

Source: aeron_context.c.
"""

from pathlib import Path
from typing import Annotated, Final

from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.timeouts import MS, S
from aeron_core.settings.variables import Duration, FilePath, Integer, Switch, Text
from aeron_core.uri.values import INT64_MAX

MAX_CLIENT_NAME_LENGTH: Final = 100


class ClientFields(SettingsFields):
    """Settings of a client as a plain object; `ClientSettings` is the model for programs."""

    model_name = "ClientSettings"

    aeron_dir: Annotated[Path, FilePath("AERON_DIR")] = setting(
        default_factory=default_aeron_dir, description="Directory of the driver to connect to."
    )
    driver_timeout_ms: Annotated[int, Integer("AERON_DRIVER_TIMEOUT", 0, INT64_MAX, strict=True)] = setting(
        10_000, description="Milliseconds without a heartbeat after which the driver counts as dead."
    )
    client_name: Annotated[str, Text("AERON_CLIENT_NAME", max_length=MAX_CLIENT_NAME_LENGTH, strict=True)] = (
        setting("", description="Name in the label of the client's heartbeat counter.")
    )
    resource_linger_duration_ns: Annotated[
        int, Duration("AERON_CLIENT_RESOURCE_LINGER_DURATION", strict=True)
    ] = setting(3 * S, description="Time for which log buffers stay mapped after their last use.")
    idle_sleep_duration_ns: Annotated[int, Duration("AERON_CLIENT_IDLE_SLEEP_DURATION", strict=True)] = (
        setting(16 * MS, description="Sleep of the client's conductor when it has no work.")
    )
    keepalive_interval_ns: Annotated[int, Duration("AERON_CORE_CLIENT_KEEPALIVE_INTERVAL", 1)] = setting(
        500 * MS, description="Interval of the client's heartbeat."
    )
    pre_touch_mapped_memory: Annotated[bool, Switch("AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY")] = setting(
        False, description="Touch every page of a log buffer when it is mapped."
    )
    use_conductor_agent_invoker: Annotated[bool, Switch("AERON_CORE_CLIENT_USE_CONDUCTOR_AGENT_INVOKER")] = (
        setting(False, description="Run the client's conductor in the caller's own loop.")
    )
    agent_on_start_function: Annotated[
        str | None,
        Text(
            "AERON_AGENT_ON_START_FUNCTION",
            optional=True,
            without_effect="it names a symbol of the C client",
        ),
    ] = setting(None, description="Function that the C client calls on its thread.")
