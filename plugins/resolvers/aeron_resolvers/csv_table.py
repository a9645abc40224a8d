"""CSV table resolver: two hosts for each name, selected by a counter while the driver runs.

For tests and manual failover: each row is `name,initial host,other host`, rows are separated by `|`. The counter of a
row is 0 for the initial host, 1 for the other host, and -1 to fail the resolution.
Source: aeron_csv_table_name_resolver.c.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aeron_core._native.counter import AtomicCounter
from aeron_core.errors import ChannelUriError, ConfigurationError, ErrorCode
from aeron_core.spi.name_resolver import NameResolverContext, NameResolverParams
from aeron_resolvers.system import find_address

ROW_TYPE_ID: Final = 2001
MAX_ROWS: Final = 1024

#: Settings that have the rows. A resolver cannot find out whether it is a fallback.
_SETTINGS: Final = (
    "name_resolver_init_args (AERON_NAME_RESOLVER_INIT_ARGS) or, of a fallback, resolver_fallback_init_args "
    "(AERON_CORE_RESOLVER_FALLBACK_INIT_ARGS)"
)
_COLUMNS: Final = 3
_USE_NONE: Final = -1
_USE_INITIAL: Final = 0
_USE_OTHER: Final = 1


class Row(NamedTuple):
    """A name and its two hosts."""

    name: str
    initial_host: str
    other_host: str

    @property
    def label(self) -> str:
        """The label of the row's counter."""
        return (
            f"NameEntry{{name='{self.name}', initialResolutionHost='{self.initial_host}', "
            f"reResolutionHost='{self.other_host}'}}"
        )

    @property
    def key(self) -> bytes:
        """The key of the row's counter: length (4 bytes, little-endian) and UTF-8 name; the driver truncates it."""
        name = self.name.encode(errors="replace")
        return len(name).to_bytes(4, "little") + name


class CsvTableNameResolver:
    """Resolver of names in its table: the operating system resolves the host that the counter of a row selects.

    The constructor raises ConfigurationError for an empty table, and for one of more than MAX_ROWS rows.
    """

    def __init__(self, params: NameResolverParams) -> None:
        self._rows, self._wrong_rows = _parse(params.options)
        self._toggles: list[AtomicCounter] = []

    def start(self, context: NameResolverContext) -> None:
        """Allocate a counter for each row, and report malformed rows; raises StorageError if no counter is free."""
        for row in self._rows:
            self._toggles.append(context.new_counter(ROW_TYPE_ID, row.label, row.key))
        for text in self._wrong_rows:
            context.report(
                f"csv_table row {text!r} ignored: must be name,initial host,other host: correct it in {_SETTINGS}"
            )

    def do_work(self, now_ns: int) -> int:
        """Return 0: there is no work to do."""
        return 0

    def close(self) -> None:
        """Do nothing: the driver frees the counters."""

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return `name` unchanged: the table maps hosts only."""
        return name

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return the address of the host that a row of this name selects, or of `host` itself without a row.

        The last of several rows with the same name applies; a row whose counter is not -1, 0 or 1 is ignored. Returns
        None if the selected host is unknown. Raises ChannelUriError if the counter of a row with this name is -1. May
        block on DNS.
        """
        chosen = host
        for index, row in enumerate(self._rows):
            if row.name != host:
                continue
            operation = self._toggles[index].get_acquire() if self._toggles else _USE_INITIAL
            if operation == _USE_NONE:
                raise ChannelUriError(
                    f"Unable to resolve host=({host}): (forced): the counter of its row is {_USE_NONE}: set it to "
                    f"{_USE_INITIAL} for the initial host, or to {_USE_OTHER} for the other one",
                    ErrorCode.UNKNOWN_HOST,
                )
            if operation == _USE_INITIAL:
                chosen = row.initial_host
            elif operation == _USE_OTHER:
                chosen = row.other_host
        return find_address(chosen)


def _parse(text: str) -> tuple[list[Row], list[str]]:
    """Return the rows and the texts of malformed rows; empty fields are ignored, as in the reference.

    Raises ConfigurationError for an empty text or too many rows.
    """
    if not text:
        raise ConfigurationError(
            "csv_table without rows: must have rows of name,initial host,other host, separated by |: set them in "
            f"{_SETTINGS}"
        )
    texts = [row for row in text.split("|") if row]
    if len(texts) > MAX_ROWS:
        raise ConfigurationError(
            f"csv_table with {len(texts)} rows: must have from 1 to {MAX_ROWS} rows: remove some from {_SETTINGS}"
        )
    rows, wrong = [], []
    for row in texts:
        columns = [column for column in row.split(",") if column]
        if len(columns) == _COLUMNS:
            rows.append(Row(*columns))
        else:
            wrong.append(row)
    return rows, wrong
