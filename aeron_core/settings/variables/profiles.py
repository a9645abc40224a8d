"""Settings that are security profiles: for each name a protector and its options.

Source of the text form: the rows of the name resolver csv_table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from aeron_core.frozen import frozen
from aeron_core.settings.variables.variable import Variable

#: Protector of a profile that names none.
DEFAULT_PROTECTOR = "group-secret"
#: Option of a profile that names its protector.
PROTECTOR = "protector"
#: What is stored instead of a secret that was given for the path of its file: settings and errors are shown.
INLINE_SECRET = "<64 hexadecimal digits instead of the path of a file>"

_SECRET_DIGITS = 64
# In a value that is refused: no path or option needs as many digits in a row.
_SECRET_TEXT = re.compile(r"[0-9a-fA-F]{32,}")


@frozen()
class SecurityProfile:
    """One profile: the name of its protector, and the options of that, as text in the order in which they were set.

    The options name files with secrets, and have no secrets themselves.
    """

    name: str
    protector: str
    options: tuple[tuple[str, str], ...] = ()


@frozen()
class Profiles(Variable):
    """Profiles as a tuple of `SecurityProfile`; as text `name,option=value,…|name,…`, in TOML a table for each name."""

    @property
    def allowed(self) -> str:
        """See `Variable.allowed`."""
        return (
            "must be profiles 'name,option=value|…', or a table for each: names of letters, digits, '-' and '_', "
            "options without ',' and '|'"
        )

    def shown(self, text: str) -> str:
        """See `Variable.shown`; a secret is not shown, also if a digit is missing."""
        return _SECRET_TEXT.sub(INLINE_SECRET, text)

    def parse(self, text: str) -> object:
        """See `Variable.parse`."""
        tables: dict[str, dict[str, str]] = {}
        for row in filter(None, (each.strip() for each in text.split("|"))):
            name, *options = (each.strip() for each in row.split(","))
            pairs = [option.partition("=") for option in options]
            if name in tables or not all(key and sign for key, sign, _ in pairs):
                raise self.refuse(text)
            tables[name] = {key.strip(): value.strip() for key, _, value in pairs}
        return self.convert(tables)

    def convert(self, value: object) -> object:
        """See `Variable.convert`."""
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, Mapping):
            return tuple(self._profile(name, options) for name, options in value.items())
        if isinstance(value, tuple) and all(isinstance(each, SecurityProfile) for each in value):
            return value
        raise self.refuse(value)

    def _profile(self, name: object, options: object) -> SecurityProfile:
        if not (
            isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum() and name.isascii()
        ):
            raise self.refuse(name)
        if not isinstance(options, Mapping):
            raise self.refuse(options)
        texts = {str(key): self._text(value) for key, value in options.items()}
        protector = texts.pop(PROTECTOR, DEFAULT_PROTECTOR)
        return SecurityProfile(name, protector, tuple(texts.items()))

    def _text(self, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            # As in a search path.
            value = ":".join(value)
        text = str(value)
        if not text or "," in text or "|" in text or isinstance(value, Mapping | list | tuple):
            raise self.refuse(value)
        return ":".join(INLINE_SECRET if _is_secret(part) else part for part in text.split(":"))

    def format(self, value: object) -> str:
        """See `Variable.format`."""
        if not isinstance(value, tuple):
            return str(value)
        return "|".join(
            ",".join(
                [each.name, f"{PROTECTOR}={each.protector}", *(f"{key}={text}" for key, text in each.options)]
            )
            for each in value
        )


def _is_secret(text: str) -> bool:
    return len(text) >= _SECRET_DIGITS and all(digit in "0123456789abcdefABCDEF" for digit in text)
