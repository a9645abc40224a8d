"""Settings section `audit`: TOML table `[audit]`, environment variables `AERON_AUDIT_…`."""

from typing import Annotated

from pydantic import Field

from aeron_core.settings.model import SettingsModel
from aeron_core.settings.variables import Duration, Text
from aeron_core.spi import hookimpl


class AuditSettings(SettingsModel):
    path: Annotated[str, Text("AERON_AUDIT_PATH")] = Field(
        "", description="File to append to; empty for none."
    )
    interval_ns: Annotated[int, Duration("AERON_AUDIT_INTERVAL", 1)] = Field(
        1_000_000_000, description="Time between two entries."
    )


@hookimpl
def aeron_settings():
    return {"audit": AuditSettings}
