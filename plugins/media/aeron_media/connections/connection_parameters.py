"""Channel URI keys that all media with connections share: parsing, checks, and comparison of shared endpoints.

Not here: the TLS keys (`tls`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated, ClassVar, Final, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from aeron_core._native import wire
from aeron_core.errors import ChannelUriError
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import format_duration_ns, format_size, parse_duration_ns, parse_size
from aeron_media.connections.image_keys import check_image_keys
from aeron_media.connections.tls.parameters import TlsParameters

MIB: Final = 1 << 20

#: Source: AERON_RCV_INITIAL_WINDOW_LENGTH.
DEFAULT_WINDOW_LENGTH: Final = 128 * 1024

#: Invented: a shorter interval may pass within a single duty cycle, before anything can be received.
MIN_INTERVAL_NS: Final = 1_000_000


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _parse_interval_ns(text: str) -> int:
    interval_ns = parse_duration_ns(text)
    if interval_ns < MIN_INTERVAL_NS:
        raise ValueError(f"must be at least {format_duration_ns(MIN_INTERVAL_NS)}")
    return interval_ns


Size = Annotated[int, BeforeValidator(parse_size)]
#: An optional size. Not `Size | None`: pydantic drops the validators of a union member from the field metadata.
OptionalSize = Annotated[int | None, BeforeValidator(parse_size)]
Duration = Annotated[int, BeforeValidator(parse_duration_ns)]
#: A duration of at least `MIN_INTERVAL_NS`, used for timeouts.
Interval = Annotated[int, BeforeValidator(_parse_interval_ns)]


class ConnectionParameters(TlsParameters):
    """Parameters of a channel with connections; other keys, such as those of the stream, are ignored."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", arbitrary_types_allowed=True, populate_by_name=True
    )

    #: A minimal valid channel, quoted when a required key is missing.
    example: ClassVar[str]
    #: Fields that set the memory layout of images.
    of_images: ClassVar[tuple[str, ...]] = ("term_length", "mtu", "receiver_window")

    term_length: Size = Field(
        8 * MIB,
        alias="term-length",
        description="Term length of images; a message may have at most an eighth of it.",
    )
    mtu: Size = Field(
        wire.MAX_UDP_PAYLOAD_LENGTH, description="Longest frame of an image; longer messages are fragmented."
    )
    receiver_window: OptionalSize = Field(
        None,
        alias="rcv-wnd",
        description="How far an image may be ahead of its subscribers, half a term by default; at least twice the "
        "longest message.",
    )
    sndbuf_length: Size = Field(
        0, alias="so-sndbuf", description="SO_SNDBUF in bytes, 0 for the system default."
    )
    rcvbuf_length: Size = Field(
        0, alias="so-rcvbuf", description="SO_RCVBUF in bytes, 0 for the system default."
    )

    @classmethod
    def parse(cls, uri: ChannelUri) -> Self:
        """Return the parameters of a URI; raises ChannelUriError with the first key that is missing or wrong."""
        values = cls._values_of(uri)
        # A client may send any bytes. Those that are not UTF-8 are surrogates, which pydantic does not accept.
        for key in (field.alias or name for name, field in cls.model_fields.items()):
            if not _is_unicode(values.get(key, "")):
                raise uri.fault(key, "must be UTF-8 text")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0])
            if first["type"] == "missing":
                raise uri.fault(key, f"must be given, such as {cls.example}") from error
            raise uri.fault(key, _allowed(first["msg"], values.get(key, ""))) from error

    @classmethod
    def _values_of(cls, uri: ChannelUri) -> Mapping[str, str]:
        return dict(uri.params)

    @property
    def image_mtu(self) -> int:
        """The longest frame of an image in bytes: `mtu`, at most the receiver window and half a term.

        Rounded down to a multiple of FRAME_ALIGNMENT; an unset window counts as DEFAULT_WINDOW_LENGTH here.
        """
        # A frame must fit into the window, or the image would never take it.
        window = min(self.receiver_window or DEFAULT_WINDOW_LENGTH, self.term_length // 2)
        return min(self.mtu, window) & -wire.FRAME_ALIGNMENT

    def check_image_keys(self, uri: ChannelUri) -> None:
        """Raise ChannelUriError if one of the lengths is not allowed for images."""
        check_image_keys(
            uri, term_length=self.term_length, mtu=self.mtu, receiver_window=self.receiver_window
        )

    def check_same(self, uri: ChannelUri, existing: Self, names: Iterable[str]) -> None:
        """Raise ChannelUriError if one of the fields `names` differs from that of `existing`.

        `existing`: parameters of a channel at the same address. `uri`: the URI of these parameters, for the
        message.
        """
        for name in names:
            mine, theirs = getattr(self, name), getattr(existing, name)
            if mine != theirs:
                field = type(self).model_fields[name]
                raise ChannelUriError(
                    f"{field.alias or name}={uri_text(field, mine)} in {str(uri)!r}: must be "
                    f"{uri_text(field, theirs)}, as in the channels that already share this address: use that "
                    "value, or another address"
                )


def _allowed(message: str, value: str) -> str:
    """Return a message of pydantic about `value` without the value, which the text before it contains."""
    message = message.removeprefix("Value error, ").removeprefix(f"{value!r}: ")
    return message.replace("Input should be", "must be", 1)


def uri_text(field: FieldInfo, value: object) -> str:
    """Return the value of a field as it is written in a URI; `(unset)` for None."""
    if value is None:
        return "(unset)"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, int) and not isinstance(value, bool):
        parsers = [each.func for each in field.metadata if isinstance(each, BeforeValidator)]
        if _parse_interval_ns in parsers or parse_duration_ns in parsers:
            return format_duration_ns(value)
        return format_size(value) if parse_size in parsers else str(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
