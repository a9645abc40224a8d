"""Settings of driver and client: pydantic models, and loaders that say where each value came from."""

from aeron_core.settings.client import ClientSettings
from aeron_core.settings.directory import Storage, default_aeron_dir
from aeron_core.settings.driver import DriverSettings
from aeron_core.settings.loader import (
    LoadedSettings,
    load_client_settings,
    load_driver_settings,
    load_section,
)
from aeron_core.settings.model import SettingsModel
from aeron_core.settings.network import Offload
from aeron_core.settings.threads import ThreadingMode, ThreadNaming
from aeron_core.settings.variables import PortRange

__all__ = [
    "ClientSettings",
    "DriverSettings",
    "LoadedSettings",
    "Offload",
    "PortRange",
    "SettingsModel",
    "Storage",
    "ThreadNaming",
    "ThreadingMode",
    "default_aeron_dir",
    "load_client_settings",
    "load_driver_settings",
    "load_section",
]
