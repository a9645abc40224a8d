"""Keys of channel URIs, and hints for misspelt ones.

Not here: the keys of media other than UDP and shared memory, which each medium has itself
(`aeron_core.spi.media.MediaTransport.uri_keys`).
Invariant: an unknown key is never an error, because the reference ignores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import shown

#: Every key of publications, subscriptions and destinations over UDP and in shared memory; other media may have them.
CHANNEL_KEYS: Final = frozenset(
    {
        "alias",
        "ats",
        "cc",
        "channel-rcv-ts-offset",
        "channel-snd-ts-offset",
        "control",
        "control-mode",
        "endpoint",
        "eos",
        "fc",
        "group",
        "gtag",
        "init-term-id",
        "interface",
        "linger",
        "max-resend",
        "media-rcv-ts-offset",
        "mtu",
        "nak-delay",
        "pub-wnd",
        "rcv-wnd",
        "rejoin",
        "reliable",
        "response-correlation-id",
        "security",
        "session-id",
        "so-rcvbuf",
        "so-sndbuf",
        "sparse",
        "ssc",
        "stream-id",
        "tags",
        "term-id",
        "term-length",
        "term-offset",
        "tether",
        "ttl",
        "untethered-linger-timeout",
        "untethered-resting-timeout",
        "untethered-window-limit-timeout",
    }
)

#: Longest key that is shown, and compared with known ones. Invented: twice the longest known key.
_SHOWN_LENGTH: Final = 64


def may_have_unknown_keys(uri: ChannelUri) -> bool:
    """Return whether `uri` has a key that is not in CHANNEL_KEYS: an unknown one, or one of its medium."""
    return not uri.params.keys() <= CHANNEL_KEYS


def unknown_keys(uri: ChannelUri, media_keys: AbstractSet[str]) -> Iterator[str]:
    """Yield each key of `uri` that is in neither CHANNEL_KEYS nor `media_keys`, in the order of the URI."""
    return (key for key in uri.params if key not in CHANNEL_KEYS and key not in media_keys)


def unknown_key_text(key: str, media_keys: AbstractSet[str]) -> str:
    """Return a warning about an unknown key, with the most similar known one, if there is one.

    A key of more than 64 characters is shortened; control characters are escaped.
    """
    name = shown(key, _SHOWN_LENGTH)
    name = name if name.isprintable() else ascii(name)[1:-1]
    from difflib import get_close_matches  # noqa: PLC0415 - lazy: only mistakes need it

    near = get_close_matches(name.lower(), sorted(CHANNEL_KEYS | media_keys), n=1)
    hint = f"did you mean {near[0]}?" if near else "it is ignored"
    return f"unknown channel key {name}: {hint}"
