"""Start position of a stream, from the three keys of the channel URI that set it together.

Source: aeron_driver_uri.c (aeron_diver_uri_publication_params).
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri import values
from aeron_core.uri.channel_uri import ChannelUri

_POSITION_KEYS: Final = ("init-term-id", "term-id", "term-offset")


@frozen(slots=True)
class StartPosition:
    """The position at which a stream starts, if its URI sets one."""

    initial_term_id: int
    term_id: int
    term_offset: int  # bytes, a multiple of FRAME_ALIGNMENT, at most the term length

    @classmethod
    def parse(cls, uri: ChannelUri, term_length: int) -> StartPosition | None:
        """Return the start position that `uri` sets, None for none; raise ChannelUriError if it is wrong or partial."""
        initial_term_id = uri.get_int32("init-term-id", None)
        term_id = uri.get_int32("term-id", None)
        missing = [key for key in _POSITION_KEYS if key not in uri]
        if len(missing) == len(_POSITION_KEYS):
            return None
        if initial_term_id is None or term_id is None or missing:
            raise uri.error(
                f"params: {' '.join(_POSITION_KEYS)} must be used as a complete set",
                f"missing {' '.join(missing)}: set all of them, or none",
            )
        term_offset = _term_offset(uri)
        # Term ids are int32 and wrap around: their difference, as an int32, must not be negative.
        if (term_id - initial_term_id) & 0x8000_0000:
            raise uri.error(
                f"Param difference greater than 2^31 - 1: init-term-id={initial_term_id} term-id={term_id}",
                "term-id must be at most 2^31 - 1 terms after init-term-id",
            )
        if not 0 <= term_offset <= term_length:
            comparison = f"> term-length={term_length}" if term_offset > 0 else "< 0"
            raise uri.error(
                f"Param term-offset={term_offset} {comparison}",
                f"must be from 0 to the term-length={term_length}",
            )
        if term_offset % wire.FRAME_ALIGNMENT:
            raise uri.error(
                f"Param term-offset={term_offset} must be multiple of FRAME_ALIGNMENT",
                f"must be a multiple of {wire.FRAME_ALIGNMENT} from 0 to the term-length={term_length}",
            )
        return cls(initial_term_id, term_id, term_offset)


def _term_offset(uri: ChannelUri) -> int:
    text = uri.get("term-offset", "")
    try:
        return values.parse_int64(text)
    except ConfigurationError:
        raise uri.error(f"could not parse term-offset={text} in URI", values.INT64_ALLOWED) from None
