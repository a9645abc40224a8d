"""Plugin that records the streams of the settings section `[recording]` while a driver runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from aeron_core.spi.hookspecs import hookimpl

if TYPE_CHECKING:
    from pydantic import BaseModel

    from aeron_core.recording.driver_recorder import DriverRecorder

_recorders: WeakKeyDictionary[Any, DriverRecorder] = WeakKeyDictionary()  # by driver


@hookimpl
def aeron_settings() -> Mapping[str, type[BaseModel] | str]:
    """Return the model of the section `recording` as text `module:class`, which is imported when it is needed."""
    return {"recording": "aeron_core.recording.settings:RecordingSettings"}


@hookimpl
def aeron_driver_started(driver: Any) -> None:
    """Start a recorder if the section has streams to record; raises as the constructor of `DriverRecorder`."""
    # If no source sets a value, there are no streams to record, and nothing has to be imported.
    if not driver.sections.is_set("recording"):
        return
    settings = driver.sections["recording"]
    if not settings.streams:
        return
    from aeron_core.recording.driver_recorder import DriverRecorder  # noqa: PLC0415 - lazy: importing numpy is slow

    _recorders[driver] = DriverRecorder(driver.aeron_dir, settings, driver.record_error)


@hookimpl
def aeron_driver_closed(driver: Any) -> None:
    """Record the remaining data and close the driver's recorder, if it has one."""
    recorder = _recorders.pop(driver, None)
    if recorder is not None:
        recorder.close()
