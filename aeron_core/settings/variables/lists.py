"""Settings that are lists: texts, and the two ports of a range."""

# ruff: noqa: D102 (the base class, Variable, documents the overridden methods)

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from aeron_core.frozen import frozen
from aeron_core.settings.variables.variable import Variable


class PortRange(NamedTuple):
    """Range of ports, both ends included; 0 and 0 leave the choice to the operating system."""

    low: int
    high: int


@frozen()
class Texts(Variable):
    """Texts separated by commas, as a tuple of at most `maximum` texts; 0 for no limit."""

    maximum: int = 0  # number of texts, 0 for no limit

    @property
    def allowed(self) -> str:
        limit = f", at most {self.maximum}" if self.maximum else ""
        return f"must be a list of texts separated by commas{limit}"

    def parse(self, text: str) -> object:
        return self.convert([part.strip() for part in text.split(",") if part.strip()])

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, Sequence) and all(isinstance(part, str) for part in value):
            return self._limited(tuple(value))
        raise self.refuse(value)

    def format(self, value: object) -> str:
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def _limited(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        if self.maximum and len(texts) > self.maximum:
            raise self.refuse(texts)
        return texts


@frozen()
class Ports(Variable):
    """Two ports, `low high`, as a PortRange."""

    @property
    def allowed(self) -> str:
        return f"must be two ports 'low high' from 0 to {2**16 - 1}, the lower one first"

    def parse(self, text: str) -> object:
        try:
            return self.convert([int(part) for part in text.split()])
        except ValueError:
            raise self.refuse(text) from None

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, Sequence) and len(value) == 2 and all(type(port) is int for port in value):
            low, high = value
            if 0 <= low <= high < 2**16:
                return PortRange(low, high)
        raise self.refuse(value)

    def format(self, value: object) -> str:
        return f"{value.low} {value.high}" if isinstance(value, PortRange) else str(value)
