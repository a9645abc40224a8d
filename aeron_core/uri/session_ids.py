"""Session ids of channel URIs: a number, or the entity tag of the publication whose session id is used.

Source: aeron_driver_uri.c (aeron_diver_uri_publication_params).
"""

from __future__ import annotations

from collections.abc import Callable

from aeron_core.errors import ConfigurationError
from aeron_core.uri import values
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import TaggedPublication

FindTagged = Callable[[int], TaggedPublication | None]


def tagged_publication(
    uri: ChannelUri, find_tagged: FindTagged | None
) -> tuple[int | None, TaggedPublication | None]:
    """Return the entity tag of `session-id=tag:…` and the publication with that tag; both None without a tag.

    Raises ChannelUriError if the tag is not an int64, or if `find_tagged` finds no publication with it. Without
    `find_tagged` the publication is None.
    """
    text = uri.get("session-id", "")
    if not text.startswith("tag:"):
        return None, None
    try:
        tag = values.parse_int64(text.removeprefix("tag:"))
    except ConfigurationError:
        raise uri.error(
            f"could not parse session-id={text} as int64_t in URI due to",
            f"after tag: {values.INT64_ALLOWED}",
        ) from None
    if find_tagged is None:
        return tag, None
    tagged = find_tagged(tag)
    if tagged is None:
        raise uri.error(
            f"session-id={text} must reference a network publication",
            f"no network publication has the entity tag {tag}: add it first, with tags=<channel tag>,{tag}",
        )
    return tag, tagged


def wanted_session_id(uri: ChannelUri, find_tagged: FindTagged | None) -> int | None:
    """Return the id of the only session that a subscription receives, None for any.

    Without `find_tagged`, a tag stands for any session. Raises ChannelUriError for a wrong id or an unknown tag.
    """
    # The reference resolves tags for publications only; here a subscription may use the same tag.
    session_tag, tagged = tagged_publication(uri, find_tagged)
    return tagged.session_id if tagged else untagged_session_id(uri, session_tag)


def untagged_session_id(uri: ChannelUri, session_tag: int | None) -> int | None:
    """Return the number of `session-id`, None if the URI has none or a `session_tag`.

    Raises ChannelUriError unless it is an int32.
    """
    return None if session_tag is not None else uri.get_int32("session-id", None)
