"""Types of settings: each field has one, with its environment name, its parser and its range.

Not here: the fields (driver, client) and the sources of values (loader).
Invariant: `check` returns a value of the field's own type within its range, None for an optional field, or
raises ConfigurationError.
"""

from aeron_core.settings.variables.lists import PortRange, Ports, Texts
from aeron_core.settings.variables.numbers import Duration, Integer, Rate, Size
from aeron_core.settings.variables.profiles import Profiles, SecurityProfile
from aeron_core.settings.variables.texts import Choice, FilePath, FolderMode, Switch, Text
from aeron_core.settings.variables.variable import Variable

__all__ = [
    "Choice",
    "Duration",
    "FilePath",
    "FolderMode",
    "Integer",
    "PortRange",
    "Ports",
    "Profiles",
    "Rate",
    "SecurityProfile",
    "Size",
    "Switch",
    "Text",
    "Texts",
    "Variable",
]
