"""The keys of a channel URI that all media with connections have, and how such keys are read and compared.

Not here: the keys of TLS (`tls`).
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

#: Our own number: in less, a duty cycle may pass in which nothing could come, or be done.
MIN_INTERVAL_NS: Final = 1_000_000


def _parse_interval_ns(text: str) -> int:
    interval_ns = parse_duration_ns(text)
    if interval_ns < MIN_INTERVAL_NS:
        raise ValueError(f"must be at least {format_duration_ns(MIN_INTERVAL_NS)}")
    return interval_ns


Size = Annotated[int, BeforeValidator(parse_size)]
#: One that may be missing. Not a union with the type above: of a union, pydantic keeps no validators in the field.
OptionalSize = Annotated[int | None, BeforeValidator(parse_size)]
Duration = Annotated[int, BeforeValidator(parse_duration_ns)]
#: A duration in which something must be able to happen.
Interval = Annotated[int, BeforeValidator(_parse_interval_ns)]


class ConnectionParameters(TlsParameters):
    """Parameters of a channel with connections; keys of the stream are passed over."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", arbitrary_types_allowed=True, populate_by_name=True
    )

    #: What a channel must say, for those who forgot it.
    example: ClassVar[str]
    #: Fields that say how images lie in memory.
    of_images: ClassVar[tuple[str, ...]] = ("term_length", "mtu", "receiver_window")

    term_length: Size = Field(
        8 * MIB, alias="term-length", description="Of the images; a message has at most an eighth of it."
    )
    mtu: Size = Field(
        wire.MAX_UDP_PAYLOAD_LENGTH, description="Of the images: longer messages are cut into fragments."
    )
    receiver_window: OptionalSize = Field(
        None,
        alias="rcv-wnd",
        description="What an image may be ahead of its subscribers, else half a term; twice the longest message.",
    )
    sndbuf_length: Size = Field(0, alias="so-sndbuf", description="SO_SNDBUF, 0 for the system's default.")
    rcvbuf_length: Size = Field(0, alias="so-rcvbuf", description="SO_RCVBUF, 0 for the system's default.")

    @classmethod
    def parse(cls, uri: ChannelUri) -> Self:
        """Return the parameters of a URI; raises ChannelUriError that names the key."""
        try:
            return cls.model_validate(cls._values_of(uri))
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0])
            if first["type"] == "missing":
                raise uri.fault(key, f"must be given, such as {cls.example}") from error
            raise uri.fault(key, first["msg"].removeprefix("Value error, ")) from error

    @classmethod
    def _values_of(cls, uri: ChannelUri) -> Mapping[str, str]:
        return dict(uri.params)

    @property
    def image_mtu(self) -> int:
        """The longest frame of an image: `mtu`, unless the image could not take one of that length at once."""
        window = min(self.receiver_window or DEFAULT_WINDOW_LENGTH, self.term_length // 2)
        return min(self.mtu, window) & -wire.FRAME_ALIGNMENT

    def check_image_keys(self, uri: ChannelUri) -> None:
        """Raise ChannelUriError where there could be no such image."""
        check_image_keys(
            uri, term_length=self.term_length, mtu=self.mtu, receiver_window=self.receiver_window
        )

    def check_same(self, uri: ChannelUri, existing: Self, names: Iterable[str]) -> None:
        """Raise ChannelUriError where those who have opened what `uri` is to share want something else in `names`."""
        for name in names:
            mine, theirs = getattr(self, name), getattr(existing, name)
            if mine != theirs:
                field = type(self).model_fields[name]
                raise ChannelUriError(
                    f"{field.alias or name}={said(field, mine)} in {str(uri)!r}: is {said(field, theirs)} for those "
                    "who share this address already"
                )


def said(field: FieldInfo, value: object) -> str:
    """Return the value of a field of such a model as a URI would say it."""
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
