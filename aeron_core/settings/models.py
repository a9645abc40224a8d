"""Settings of driver and client for programs: pydantic models with the fields of `driver` and `client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from aeron_core.settings.client import ClientFields
from aeron_core.settings.driver import DriverFields
from aeron_core.settings.model import model_with

if TYPE_CHECKING:
    from aeron_core.settings.model import SettingsModel as _ClientModel
    from aeron_core.settings.model import SettingsModel as _DriverModel
else:
    _DriverModel = model_with(DriverFields)
    _ClientModel = model_with(ClientFields)


class DriverSettings(_DriverModel, DriverFields):
    """Settings of a media driver; the defaults are the reference driver's, if it has the setting.

    A wrong value, or values that cannot work together, raise ConfigurationError.
    """

    def __init__(self, **data: object) -> None:
        super().__init__(**data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check_consistency()
        return self

    @classmethod
    def of(cls, fields: DriverFields) -> DriverSettings:
        """Return the model with the values of a plain object; a model is returned as it is."""
        return fields if isinstance(fields, DriverSettings) else cls(**fields.changed())


class ClientSettings(_ClientModel, ClientFields):
    """Settings of a client; the defaults are the reference client's, if it has the setting.

    A wrong value raises ConfigurationError.
    """

    def __init__(self, **data: object) -> None:
        super().__init__(**data)

    @classmethod
    def of(cls, fields: ClientFields) -> ClientSettings:
        """Return the model with the values of a plain object; a model is returned as it is."""
        return fields if isinstance(fields, ClientSettings) else cls(**fields.changed())
