"""Options of `min` and `tagged` in `fc=`: `g:tag/n`, `t:duration`, `rrwm:n`, `proof:true`, separated by commas.

Source: aeron_flow_control.c, aeron_flow_control_parse_tagged_options; `proof` is not from the reference.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri.values import DURATION_UNITS, INT32_MAX, INT64_MAX, INT64_MIN, parse_duration_ns
from aeron_flow_control.options import parse_option, refused, refused_as, split_options, unrecognised

if TYPE_CHECKING:
    from aeron_core.spi.flow_control import FlowControlParams

_GROUP: Final = re.compile(r"(?P<tag>[-+]?[0-9]{1,19})?(?:/(?P<size>[0-9]{1,10}))?")
_GROUP_SIZE_FOLLOWS: Final = re.compile(r"[-+]?[0-9]*/")
_ALLOWED: Final = ("g", "t", "rrwm", "proof")
_BOOLEANS: Final = {"true": True, "false": False}
#: Source: aeron_flow_control.c, AERON_FLOW_CONTROL_NUMBER_BUFFER_LEN without the NUL at the end.
_MAX_VALUE_LENGTH: Final = 63
#: Source: aeron_flow_control.h, the multiple for multicast.
_RETRANSMIT_WINDOW_MULTIPLE: Final = 4
_NO_TAG: Final = -1


@frozen()
class GroupOptions:
    """Tag of the group (-1: not set), number of receivers required, and timeout of a silent receiver.

    `retransmit_window_multiple`: how many windows are retransmitted for a NAK at most. `requires_proof`: whether only
    receivers that reply to a request at their address are counted.
    """

    group_tag: int
    group_min_size: int
    receiver_timeout_ns: int
    retransmit_window_multiple: int = _RETRANSMIT_WINDOW_MULTIPLE
    requires_proof: bool = False


def parse_group_options(params: FlowControlParams) -> GroupOptions:
    """Return the options of a channel, with defaults from the driver's settings.

    Raises ChannelUriError for unknown options and invalid values.
    """
    options = GroupOptions(
        _NO_TAG if params.group_tag is None else params.group_tag,
        params.group_min_size,
        params.receiver_timeout_ns,
    )
    for part in split_options(params.options):
        key, _, value = part.partition(":")
        if key in ("g", "t"):
            _check_length(part, value, params.channel)
        if key == "g":
            options = _with_group(options, part, value, params.channel)
        elif key == "t":
            options = replace(options, receiver_timeout_ns=_timeout_ns(part, value, params.channel))
        elif key == "proof":
            options = replace(options, requires_proof=_boolean(part, value, params.channel))
        else:
            _, multiple = parse_option(part, allowed=_ALLOWED, channel=params.channel)
            options = replace(options, retransmit_window_multiple=multiple)
    return options


def _check_length(part: str, value: str, channel: str) -> None:
    if not value:
        raise unrecognised(part, allowed=_ALLOWED, channel=channel)
    if len(value) > _MAX_VALUE_LENGTH:
        raise refused(
            f"number field too long (found {len(value)}, max {_MAX_VALUE_LENGTH})",
            value,
            channel,
            f"at most {_MAX_VALUE_LENGTH} characters long",
        )


def _with_group(options: GroupOptions, part: str, value: str, channel: str) -> GroupOptions:
    match = _GROUP.fullmatch(value)
    tag = None if match is None or match["tag"] is None else int(match["tag"])
    size = None if match is None or match["size"] is None else int(match["size"])
    allowed = f"a signed 64-bit tag, '/' with a number of receivers from 0 to {INT32_MAX}, or both: 'g:tag/n'"
    if (match is None and _GROUP_SIZE_FOLLOWS.match(value)) or (size or 0) > INT32_MAX:
        raise refused_as("Group count invalid", part, channel, allowed)
    if (tag is None and size is None) or not INT64_MIN <= (tag or 0) <= INT64_MAX:
        raise refused("invalid group", part, channel, allowed)
    return replace(
        options,
        group_tag=options.group_tag if tag is None else tag,
        group_min_size=options.group_min_size if size is None else size,
    )


def _boolean(part: str, value: str, channel: str) -> bool:
    if value not in _BOOLEANS:
        raise refused("invalid proof", part, channel, "proof:true or proof:false")
    return _BOOLEANS[value]


def _timeout_ns(part: str, value: str, channel: str) -> int:
    try:
        timeout_ns = parse_duration_ns(value)
    except ConfigurationError:
        timeout_ns = 0
    if timeout_ns <= 0:
        raise refused(
            "invalid timeout",
            part,
            channel,
            f"a duration of at least 1ns, as a whole number with a unit {DURATION_UNITS}, such as t:5s",
        )
    return timeout_ns
