"""Events of a driver: their names and numbers, and the parser of the settings that enable them.

Not here: writing them (event_log).
Source: aeron_driver_agent.h, aeron_driver_agent.c (aeron_driver_agent_events_set_enabled).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

FRAME_IN: Final = "FRAME_IN"
FRAME_OUT: Final = "FRAME_OUT"
NAK_SENT: Final = "NAK_SENT"
NAK_RECEIVED: Final = "NAK_RECEIVED"
SEND_CHANNEL_CREATION: Final = "SEND_CHANNEL_CREATION"
SEND_CHANNEL_CLOSE: Final = "SEND_CHANNEL_CLOSE"
RECEIVE_CHANNEL_CREATION: Final = "RECEIVE_CHANNEL_CREATION"
RECEIVE_CHANNEL_CLOSE: Final = "RECEIVE_CHANNEL_CLOSE"
REMOVE_PUBLICATION_CLEANUP: Final = "REMOVE_PUBLICATION_CLEANUP"
REMOVE_SUBSCRIPTION_CLEANUP: Final = "REMOVE_SUBSCRIPTION_CLEANUP"
REMOVE_IMAGE_CLEANUP: Final = "REMOVE_IMAGE_CLEANUP"
UNTETHERED_STATE_CHANGE: Final = "UNTETHERED_SUBSCRIPTION_STATE_CHANGE"
NAME_RESOLUTION_RESOLVE: Final = "NAME_RESOLUTION_RESOLVE"
NAME_RESOLUTION_LOOKUP: Final = "NAME_RESOLUTION_LOOKUP"
PUBLICATION_REVOKE: Final = "PUBLICATION_REVOKE"
IMAGE_REVOKE: Final = "PUBLICATION_IMAGE_REVOKE"
#: Details of an error, which would make each of its texts in the distinct error log a new entry.
GENERIC_MESSAGE: Final = "GENERIC_MESSAGE"

#: Event names by number; settings accept either.
EVENTS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: FRAME_IN,
        2: FRAME_OUT,
        3: "CMD_IN_ADD_PUBLICATION",
        4: "CMD_IN_REMOVE_PUBLICATION",
        5: "CMD_IN_ADD_SUBSCRIPTION",
        6: "CMD_IN_REMOVE_SUBSCRIPTION",
        7: "CMD_OUT_PUBLICATION_READY",
        8: "CMD_OUT_AVAILABLE_IMAGE",
        12: "CMD_OUT_ON_OPERATION_SUCCESS",
        13: "CMD_IN_KEEPALIVE_CLIENT",
        14: REMOVE_PUBLICATION_CLEANUP,
        15: REMOVE_SUBSCRIPTION_CLEANUP,
        16: REMOVE_IMAGE_CLEANUP,
        17: "CMD_OUT_ON_UNAVAILABLE_IMAGE",
        23: SEND_CHANNEL_CREATION,
        24: RECEIVE_CHANNEL_CREATION,
        25: SEND_CHANNEL_CLOSE,
        26: RECEIVE_CHANNEL_CLOSE,
        30: "CMD_IN_ADD_DESTINATION",
        31: "CMD_IN_REMOVE_DESTINATION",
        32: "CMD_IN_ADD_EXCLUSIVE_PUBLICATION",
        33: "CMD_OUT_EXCLUSIVE_PUBLICATION_READY",
        34: "CMD_OUT_ERROR",
        35: "CMD_IN_ADD_COUNTER",
        36: "CMD_IN_REMOVE_COUNTER",
        37: "CMD_OUT_SUBSCRIPTION_READY",
        38: "CMD_OUT_COUNTER_READY",
        39: "CMD_OUT_ON_UNAVAILABLE_COUNTER",
        40: "CMD_IN_CLIENT_CLOSE",
        41: "CMD_IN_ADD_RCV_DESTINATION",
        42: "CMD_IN_REMOVE_RCV_DESTINATION",
        43: "CMD_OUT_ON_CLIENT_TIMEOUT",
        44: "CMD_IN_TERMINATE_DRIVER",
        45: UNTETHERED_STATE_CHANGE,
        46: "NAME_RESOLUTION_NEIGHBOR_ADDED",
        47: "NAME_RESOLUTION_NEIGHBOR_REMOVED",
        48: "FLOW_CONTROL_RECEIVER_ADDED",
        49: "FLOW_CONTROL_RECEIVER_REMOVED",
        50: NAME_RESOLUTION_RESOLVE,
        51: GENERIC_MESSAGE,
        52: NAME_RESOLUTION_LOOKUP,
        53: "NAME_RESOLUTION_HOST_NAME",
        54: NAK_SENT,
        55: "RESEND",
        56: "CMD_IN_REMOVE_DESTINATION_BY_ID",
        57: "CMD_IN_REJECT_IMAGE",
        58: NAK_RECEIVED,
        59: PUBLICATION_REVOKE,
        60: IMAGE_REVOKE,
        61: "ADD_DYNAMIC_DISSECTOR",
        62: "DYNAMIC_DISSECTOR_EVENT",
    }
)

#: Events of the reference that this driver never logs: counters show those of strategies and gossip, FRAME_OUT includes
#: retransmissions, and this driver has no dynamic dissectors.
NEVER_LOGGED: Final = frozenset(
    {
        "NAME_RESOLUTION_NEIGHBOR_ADDED",
        "NAME_RESOLUTION_NEIGHBOR_REMOVED",
        "FLOW_CONTROL_RECEIVER_ADDED",
        "FLOW_CONTROL_RECEIVER_REMOVED",
        "NAME_RESOLUTION_HOST_NAME",
        "RESEND",
        "ADD_DYNAMIC_DISSECTOR",
        "DYNAMIC_DISSECTOR_EVENT",
    }
)

_ALL: Final = frozenset(EVENTS.values())
# All but the events of single frames and of dynamic dissectors. NAKs are included: they are rare on a healthy network.
_ADMIN: Final = _ALL - {FRAME_IN, FRAME_OUT, "ADD_DYNAMIC_DISSECTOR", "DYNAMIC_DISSECTOR_EVENT"}
_GROUPS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({"all": _ALL, "admin": _ADMIN})
_ALIASES: Final[Mapping[str, str]] = MappingProxyType({"SEND_NAK_MESSAGE": NAK_SENT})
_WHOLE_MASK: Final = 0xFFFF
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
# Older form of the setting, a bit mask. Its bits do not correspond to the event numbers above.
_MASKS: Final[Mapping[int, frozenset[str]]] = MappingProxyType(
    {
        0x1: frozenset(name for name in _ALL if name.startswith("CMD_IN_")),
        0x2: frozenset(name for name in _ALL if name.startswith("CMD_OUT_")),
        0x4: frozenset({FRAME_IN}),
        0x8: frozenset({FRAME_OUT}),
        0x10: frozenset({FRAME_OUT}),
        0x80: frozenset({UNTETHERED_STATE_CHANGE}),
        0x100: frozenset({"DYNAMIC_DISSECTOR_EVENT"}),
    }
)


def choose_events(enabled: str | None, disabled: str | None) -> tuple[frozenset[str], list[str]]:
    """Return the events to log and the errors in the settings; `disabled` has an effect only if `enabled` is set."""
    wanted, faults = _parse(enabled)
    unwanted, more_faults = _parse(disabled if enabled else None)
    return wanted - unwanted - NEVER_LOGGED, faults + more_faults


def _parse(text: str | None) -> tuple[frozenset[str], list[str]]:
    names: set[str] = set()
    faults = []
    for item in _items(text):
        found = _named(item)
        if not found:
            faults.append(
                f"no event {item!r}: must be all, admin, a mask such as 0xFF, or names or numbers of events, such as "
                f"FRAME_IN,NAK_SENT"
            )
        elif found <= NEVER_LOGGED:
            faults.append(f"event {item} is accepted, but this driver does not log it: remove it")
        names |= found
    return frozenset(names), faults


def _items(text: str | None) -> Iterable[str]:
    return filter(None, (item.strip() for item in (text or "").split(",")))


def _named(item: str) -> frozenset[str]:
    if item in _GROUPS:
        return _GROUPS[item]
    if item.startswith("0x"):
        return _masked(item)
    name = _ALIASES.get(item, item)
    number = _NUMBER.match(item)
    if number is not None:
        # As strtol in the reference, which ignores text after the number.
        name = EVENTS.get(int(number[0]), "")
    return frozenset({name}) & _ALL


def _masked(item: str) -> frozenset[str]:
    try:
        mask = int(item, 16)
    except ValueError:
        return frozenset()
    if mask >= _WHOLE_MASK:
        return _ALL
    return frozenset().union(*(names for bit, names in _MASKS.items() if mask & bit))
