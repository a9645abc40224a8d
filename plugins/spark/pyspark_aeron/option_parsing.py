"""Parsing of source and sink options: text to model, with errors that name the option."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Final, Self
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from aeron_core.archive.reading.address import ArchiveAddress, is_address
from aeron_core.errors import ConfigurationError
from aeron_core.recording.storage.arrow_store import local_folder

# Options that Spark adds itself.
_OPTIONS_OF_SPARK: Final = frozenset({"checkpointlocation", "queryname"})
# Properties that Spark adds to the options of a table in its catalogue. Source: TableCatalog.java, reserved properties.
_TABLE_PROPERTIES: Final = frozenset(
    {"collation", "comment", "external", "is_managed_location", "owner", "provider"}
)
# Before the names of options, which the properties of a table contain a second time. Source: TableCatalog.java.
_TABLE_OPTION: Final = "option."
_FILE_SCHEME: Final = "file://"


def _absolute(location: str) -> str:
    # Resolved in the process that plans the query: executors may have other working directories.
    if location.startswith(_FILE_SCHEME):
        return unquote(urlsplit(location).path)
    if is_address(location):
        ArchiveAddress.parse(location)
        return location
    return location if not location or "://" in location else str(local_folder(location))


#: A folder, converted to an absolute path, a URI, or the address of a running Aeron Archive.
Location = Annotated[str, AfterValidator(_absolute)]


class Options(BaseModel):
    """Base of option models: camel-case names as in the documentation; frozen and picklable."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Return Spark's options as a model; raises ConfigurationError with all errors and the allowed values.

        Ignores upper and lower case of names, and options that Spark adds itself; `path` means `archive`, and the
        `location` of a table too.
        """
        if any(key.lower() == "provider" for key in options):
            options = _options_of_table(options)
        names = {str(field.alias).lower(): name for name, field in cls.model_fields.items()}
        values: dict[str, Any] = {}
        faults: list[str] = []
        for key, value in options.items():
            if key.lower() in _OPTIONS_OF_SPARK:
                continue
            name = names.get("archive" if key.lower() == "path" else key.lower())
            if name is None:
                faults.append(_unknown(key, [str(f.alias) for f in cls.model_fields.values()]))
            else:
                values[name] = value
        try:
            parsed = cls(**values)
        except ValidationError as error:
            faults += _faults(cls, error, values)
        if faults:
            raise ConfigurationError("; ".join(faults))
        return parsed


def _options_of_table(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options among the properties of a table that a user created with `CREATE TABLE`."""
    options = {}
    for key, value in properties.items():
        name = key.lower()
        if name == "location":
            options["path"] = value
        elif name not in _TABLE_PROPERTIES and not name.startswith(_TABLE_OPTION):
            options[key] = value
    return options


def _unknown(key: str, known: list[str]) -> str:
    near = get_close_matches(key.lower(), [name.lower() for name in known], n=1)
    hint = next((name for name in known if near and name.lower() == near[0]), None)
    return f"unknown option {key}: " + (
        f"did you mean {hint}" if hint else f"must be one of {', '.join(known)}"
    )


def allowed(fault: ErrorDetails) -> str:
    """Return the text of a validation error: what is allowed, and not the value unless a validator of ours names it."""
    match fault["type"]:
        case "missing":
            return "must be given"
        case "extra_forbidden":
            return "unknown key: correct its name, or remove it"
        case "string_pattern_mismatch":
            return f"must match {fault['ctx']['pattern']}"
        case _:
            return str(fault.get("ctx", {}).get("error", fault["msg"])).replace(
                "Input should be", "must be", 1
            )


def _faults(model: type[BaseModel], error: ValidationError, values: Mapping[str, object]) -> list[str]:
    faults = []
    for fault in error.errors(include_url=False):
        name = str(fault["loc"][0]) if fault["loc"] else ""
        cause = str(fault.get("ctx", {}).get("error", fault["msg"]))
        field = next((n for n in model.model_fields if name in {n, to_camel(n)}), "")
        if field:
            value = values.get(field)
            # Parsers begin with the value, which stands before the cause here.
            cause = allowed(fault).removeprefix(f"{value!r}: ")
            cause = f"option {to_camel(field)}={value}: {cause}"
        faults.append(cause)
    return faults
