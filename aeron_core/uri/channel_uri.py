"""Channel URIs: `[aeron-spy:]aeron:<media>[?key=value{|key=value}]`.

Not here: the keys of a medium and the ranges of their values (parameters), and address resolution.
Invariant: a `ChannelUri` is immutable, and parsing its text gives an equal one.

Source: aeron_uri.c, ChannelUri.java.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final, TypeVar, overload

from aeron_core.errors import ChannelUriError, ConfigurationError, ErrorCode
from aeron_core.frozen import frozen
from aeron_core.uri import addresses, values

MAX_URI_LENGTH: Final = 4095  # bytes; the reference has a buffer of one more for the final NUL
SPY_PREFIX: Final = "aeron-spy"
INVALID_TAG: Final = -1
UDP_MEDIA: Final = "udp"
IPC_MEDIA: Final = "ipc"

_SCHEME: Final = "aeron:"
_MEDIA: Final = re.compile(r"[a-z][a-z0-9+.-]*")
_DECIMAL_START: Final = re.compile(r"[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+")
_CHANNEL_TAG_ALLOWED: Final = f"must begin with a whole decimal number from 0 to {values.INT64_MAX}"
_ENTITY_TAG_ALLOWED: Final = f"must be a whole decimal number from {-values.INT64_MAX} to {values.INT64_MAX}"
_RESERVED: Final = "?|="

# If one of these keys is given twice, the last value counts, because the reference stores it in a named field; of any
# other key the first value counts, because the reference searches from the start.
_LAST_ONE_WINS: Final = frozenset({"endpoint", "interface", "control", "control-mode", "tags", "ttl"})

_T = TypeVar("_T")
_D = TypeVar("_D")
ParamValue = str | int | bool


@frozen(slots=True, eq=False)
class ChannelUri:
    """The medium of a stream and its parameters; immutable and hashable.

    The constructor raises ChannelUriError for a wrong prefix, medium or parameter, and for more than 4095 bytes. A
    method `get_…` returns `default` if the URI does not have the key, and raises ChannelUriError for a wrong value.
    """

    media: str  # `udp`, `ipc` or the name of a plugin's medium
    params: Mapping[str, str] = field(default_factory=dict)  # in the order written, one value per key
    prefix: str = ""  # empty or "aeron-spy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))
        if self.prefix not in ("", SPY_PREFIX):
            raise ChannelUriError(f"prefix {self.prefix!r} of a channel URI: must be empty or {SPY_PREFIX!r}")
        if _MEDIA.fullmatch(self.media) is None:
            raise ChannelUriError(
                f"media {self.media!r} of a channel URI: must be a name such as udp or ipc: a lower-case letter, "
                f"then lower-case letters, digits, '+', '.' and '-'"
            )
        for key, value in self.params.items():
            if not key or not value or "=" in key or "|" in key or "|" in value or "\0" in key + value:
                raise ChannelUriError(
                    f"parameter {key!r}={value!r} of a channel URI: key and value must not be empty, "
                    f"nor contain '|' or NUL, nor the key '='"
                )
        _check_length(str(self))

    @classmethod
    def parse(cls, text: str) -> ChannelUri:
        """Return the URI written as `text`; raise ChannelUriError, with the code INVALID_CHANNEL, if it is wrong."""
        _check_length(text)
        prefix, rest = "", text
        if text.startswith(SPY_PREFIX + ":"):
            prefix, rest = SPY_PREFIX, text.removeprefix(SPY_PREFIX + ":")
        if not rest.startswith(_SCHEME):
            raise ChannelUriError(
                f"invalid URI scheme or transport: {text}: Aeron URIs must start with 'aeron:' or 'aeron-spy:aeron:'"
            )
        media, question_mark, query = rest.removeprefix(_SCHEME).partition("?")
        if _MEDIA.fullmatch(media) is None:
            raise ChannelUriError(
                f"invalid URI scheme or transport: {text}: media {media!r} must be a name such as udp or ipc: "
                f"a lower-case letter, then lower-case letters, digits, '+', '.' and '-'"
            )
        if media == UDP_MEDIA and not question_mark:
            raise ChannelUriError(
                f"invalid URI scheme or transport: {text}: 'aeron:udp' must be followed by '?'"
            )
        return cls(media, _parse_params(query, text), prefix)

    @overload
    def get(self, key: str) -> str | None: ...
    @overload
    def get(self, key: str, default: _D) -> str | _D: ...
    def get(self, key: str, default: object = None) -> object:
        """Return the text of `key`, or `default` if the URI does not have it."""
        return self.params.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.params

    def get_int32(self, key: str, default: _D) -> int | _D:
        """Return the signed 32-bit integer of `key`: decimal, 0x… (hexadecimal) or 0… (octal)."""
        allowed = self._integer_fault(key) + values.INT32_ALLOWED
        return self._get_parsed(key, default, values.parse_int32, " as int32_t in URI", allowed)

    def get_int64(self, key: str, default: _D) -> int | _D:
        """Return the signed 64-bit integer of `key`: decimal, 0x… (hexadecimal) or 0… (octal)."""
        allowed = self._integer_fault(key) + values.INT64_ALLOWED
        return self._get_parsed(key, default, values.parse_int64, " as int64_t in URI", allowed)

    def _integer_fault(self, key: str) -> str:
        return f"{os.strerror(errno.ERANGE)}: " if values.is_integer(self.get(key, "")) else ""

    def get_size(self, key: str, default: _D) -> int | _D:
        """Return the size of `key`, such as `64k`, in bytes."""
        return self._get_parsed(key, default, values.parse_size, " in URI", values.SIZE_ALLOWED)

    def get_duration_ns(self, key: str, default: _D) -> int | _D:
        """Return the duration of `key`, such as `5s`, in nanoseconds."""
        return self._get_parsed(key, default, values.parse_duration_ns, " in URI", values.DURATION_ALLOWED)

    def get_bool(self, key: str, default: _D) -> bool | _D:
        """Return the boolean of `key`, `true` or `false`."""
        return self._get_parsed(key, default, values.parse_bool, " as bool from URI", values.BOOL_ALLOWED)

    def get_address(self, key: str, default: _D) -> addresses.HostPort | _D:
        """Return the host and port of `key`, without resolving them."""
        return self._get_parsed(key, default, addresses.parse_address, " in URI")

    def get_interface(self, key: str, default: _D) -> addresses.InterfaceSpec | _D:
        """Return the interface of `key`, without matching it to the machine's interfaces."""
        return self._get_parsed(key, default, addresses.InterfaceSpec.parse, " in URI")

    def fault(self, key: str, allowed: str, code: ErrorCode = ErrorCode.GENERIC_ERROR) -> ChannelUriError:
        """Return an error, for the caller to raise, with `key`, its value, this URI and what is `allowed`."""
        value = self.get(key)
        actual = f"no {key}" if value is None else f"{key}={value}"
        return ChannelUriError(f"{actual} in {str(self)!r}: {allowed}", code)

    def error(self, text: str, allowed: str, code: ErrorCode = ErrorCode.GENERIC_ERROR) -> ChannelUriError:
        """Return an error, for the caller to raise, that starts with the reference's `text` and names this URI."""
        return ChannelUriError(f"{text}: {allowed}: channel={self}", code)

    @property
    def channel_tag(self) -> int:
        """The first number of `tags`, from 0 to 2^63 - 1, INVALID_TAG if there is none.

        As in the reference, text after the digits is ignored. Raises ChannelUriError if there are no digits, or the
        number is larger.
        """
        text = self.params.get("tags", "").partition(",")[0]
        if not text:
            return INVALID_TAG
        match = _DECIMAL_START.match(text)
        if match is None or int(match[0]) > values.INT64_MAX:
            raise self.error(
                f"could not parse channel tag string: {text}", _CHANNEL_TAG_ALLOWED, ErrorCode.INVALID_CHANNEL
            )
        return int(match[0])

    @property
    def entity_tag(self) -> int:
        """The second number of `tags`, from -(2^63 - 1) to 2^63 - 1, INVALID_TAG if there is none.

        Raises ChannelUriError for any other text.
        """
        text = self.params.get("tags", "").partition(",")[2]
        if not text:
            return INVALID_TAG
        if _DECIMAL.fullmatch(text) is None or abs(int(text)) > values.INT64_MAX:
            raise self.error(f"Entity tag invalid: {text}", _ENTITY_TAG_ALLOWED)
        return int(text)

    @property
    def is_spy(self) -> bool:
        """Whether the URI subscribes to a publication of the same driver (`aeron-spy:`)."""
        return self.prefix == SPY_PREFIX

    @property
    def is_ipc(self) -> bool:
        """Whether the medium is shared memory."""
        return self.media == IPC_MEDIA

    @property
    def is_udp(self) -> bool:
        """Whether the medium is UDP."""
        return self.media == UDP_MEDIA

    def replace(self, *, media: str | None = None, prefix: str | None = None) -> ChannelUri:
        """Return the URI with another medium or prefix and the same parameters; raise ChannelUriError if wrong."""
        return ChannelUri(
            self.media if media is None else media, self.params, self.prefix if prefix is None else prefix
        )

    def with_params(self, params: Mapping[str, ParamValue | None]) -> ChannelUri:
        """Return the URI with `params` merged over its own; None removes a key.

        Raises ChannelUriError for a wrong key or value, and if the URI becomes longer than 4095 bytes.
        """
        merged = dict(self.params)
        for key, value in params.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = format_param(key, value)
        return ChannelUri(self.media, merged, self.prefix)

    def __str__(self) -> str:
        prefix = f"{self.prefix}:" if self.prefix else ""
        query = "|".join(f"{key}={value}" for key, value in self.params.items())
        # `aeron:udp` needs the `?` even if there are no parameters.
        question_mark = "?" if query or self.is_udp else ""
        return f"{prefix}{_SCHEME}{self.media}{question_mark}{query}"

    def __repr__(self) -> str:
        return f"ChannelUri.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChannelUri):
            return NotImplemented
        return (self.prefix, self.media, self.params) == (other.prefix, other.media, other.params)

    def __hash__(self) -> int:
        return hash((self.prefix, self.media, frozenset(self.params.items())))

    def _get_parsed(
        self, key: str, default: _D, parse: Callable[[str], _T], kind: str, allowed: str | None = None
    ) -> _T | _D:
        text = self.params.get(key)
        if text is None:
            return default
        try:
            return parse(text)
        except ConfigurationError as error:
            raise self.error(f"could not parse {key}={text}{kind}", allowed or str(error)) from None


def format_param(key: str, value: ParamValue) -> str:
    """Return `value` as written in a URI.

    Raises ChannelUriError if it or `key` is empty or contains `?`, `|` or `=`.
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    for part in (key, text):
        if not part or any(reserved in part for reserved in _RESERVED):
            raise ChannelUriError(
                f"parameter {key!r}={text!r}: must neither be empty nor contain '?', '|' or '='"
            )
    return text


#: The key that the reference does not have; other keys without a value count as absent at the end of the text.
_SECURITY_WITHOUT_VALUE: Final = ("security", "security=")


def _parse_params(query: str, uri: str) -> dict[str, str]:
    params: dict[str, str] = {}
    position, end = 0, len(query)
    while position < end:
        equals, bar = query.find("=", position), query.find("|", position)
        if bar >= 0 and (equals < 0 or bar < equals):
            raise ChannelUriError(
                f"invalid end of key {query[position:bar]!r} in {uri!r}: '=' must come before '|'"
            )
        if query[position:] in _SECURITY_WITHOUT_VALUE:
            # A program whose variable is empty must not send in clear.
            raise ChannelUriError(
                f"empty value not allowed for 'security' in {uri!r}: name a profile of the driver's settings, or leave "
                f"security out"
            )
        if equals < 0:
            break  # as in the reference: a key at the end of the text without `=` is dropped
        if equals == position:
            raise ChannelUriError(f"empty key not allowed in {uri!r}: '=' must follow a key")
        key, value = query[position:equals], query[equals + 1 : bar if bar >= 0 else end]
        if not value and bar >= 0:
            raise ChannelUriError(f"empty value not allowed for {key!r} in {uri!r}: '|' must follow a value")
        # As in the reference: a key with an empty value at the very end counts as absent.
        if value and (key in _LAST_ONE_WINS or key not in params):
            params[key] = value
        position = bar + 1 if bar >= 0 else end
    return params


def _check_length(text: str) -> None:
    # "replace" encodes each surrogate, which stands for an undecodable byte (surrogateescape), as one byte.
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > MAX_URI_LENGTH:
        raise ChannelUriError(
            f"URI length ({len(encoded)}) exceeds max supported length ({MAX_URI_LENGTH}): "
            f"{encoded[:MAX_URI_LENGTH].decode('utf-8', 'ignore')}"
        )
