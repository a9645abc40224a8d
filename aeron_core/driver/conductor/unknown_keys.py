"""Unknown keys in the channels of clients: entries of the error log, because a driver ignores such keys.

Invariant: neither the number of entries nor the time of a command grows with the keys that clients write.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from aeron_core.uri.keys import may_have_unknown_keys, unknown_key_text, unknown_keys

if TYPE_CHECKING:
    from aeron_core.driver.conductor.error_sink import ErrorSink
    from aeron_core.spi.media import MediaTransport
    from aeron_core.uri.channel_uri import ChannelUri

#: Maximum number of keys of one channel that are reported, and of entries. Invented: more than a user misspells, and
#: less than 1 % of the error log.
MAX_KEYS_OF_CHANNEL: Final = 8
MAX_ENTRIES: Final = 64
_FURTHER: Final = f"unknown channel keys: further ones, of which this log keeps {MAX_ENTRIES}"


class UnknownKeys:
    """Reports unknown keys of channels. Used by the conductor only."""

    def __init__(self, errors: ErrorSink) -> None:
        self._errors = errors
        self._texts: dict[tuple[str, str], str] = {}

    def report(self, uri: ChannelUri, transport: MediaTransport) -> None:
        """Log the unknown keys of a channel of `transport`, one entry per medium and key; raise nothing for them."""
        if not may_have_unknown_keys(uri):
            return
        try:
            # The core has the keys of UDP and shared memory: their models, which import pydantic, are not asked.
            media_keys = frozenset() if uri.is_udp or uri.is_ipc else frozenset(transport.uri_keys)
        except Exception as error:
            # The medium is a plugin: without its keys, none is known to be wrong.
            self._errors.record_exception(error, f"keys of the medium {uri.media}")
            return
        for key in islice(unknown_keys(uri, media_keys), MAX_KEYS_OF_CHANNEL):
            self._errors.note(self._text_of(uri.media, key, media_keys))

    def _text_of(self, media: str, key: str, media_keys: frozenset[str]) -> str:
        text = self._texts.get((media, key))
        if text is None:
            if len(self._texts) >= MAX_ENTRIES:
                return _FURTHER
            text = self._texts[media, key] = unknown_key_text(key, media_keys)
        return text
