"""Settings of driver and client: pydantic models, and loaders that record where each value came from.

The names are imported at first use, because importing pydantic is slow: drivers and clients start with the plain
objects of `driver` and `client`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aeron_core.settings.aeron_dir import default_aeron_dir as default_aeron_dir
    from aeron_core.settings.directory import Storage as Storage
    from aeron_core.settings.loader import LoadedSettings as LoadedSettings
    from aeron_core.settings.loader import load_client_settings as load_client_settings
    from aeron_core.settings.loader import load_driver_settings as load_driver_settings
    from aeron_core.settings.loader import load_section as load_section
    from aeron_core.settings.model import SettingsModel as SettingsModel
    from aeron_core.settings.models import ClientSettings as ClientSettings
    from aeron_core.settings.models import DriverSettings as DriverSettings
    from aeron_core.settings.network import Offload as Offload
    from aeron_core.settings.threads import ThreadingMode as ThreadingMode
    from aeron_core.settings.threads import ThreadNaming as ThreadNaming
    from aeron_core.settings.variables import PortRange as PortRange

#: Module of each name.
_HOMES: Final = {
    "ClientSettings": "models",
    "DriverSettings": "models",
    "LoadedSettings": "loader",
    "Offload": "network",
    "PortRange": "variables",
    "SettingsModel": "model",
    "Storage": "directory",
    "ThreadNaming": "threads",
    "ThreadingMode": "threads",
    "default_aeron_dir": "aeron_dir",
    "load_client_settings": "loader",
    "load_driver_settings": "loader",
    "load_section": "loader",
}

__all__ = [*_HOMES]  # noqa: PLE0604 - all strings


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: must be one of {', '.join(__all__)}"
        )
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
