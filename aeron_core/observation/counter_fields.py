"""Fields of the keys of counters, decoded by the type of the counter.

    stream          registration_id, session_id, stream_id, channel
    channel status  channel, also of counters of a medium or a protector, and of refusals
    bound address   channel_status_id, address
    client          client_id
    recording       recording_id, session_id, source

Not here: the layouts of all keys but that of a recording (`concurrent.counter_types`).
Source: RecordingPos.java for the key of a recording.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counter_types import owner_of
from aeron_core.concurrent.counters import CounterRecord

_CHANNEL_TYPES: Final = frozenset(
    {
        types.SEND_CHANNEL_STATUS,
        types.RECEIVE_CHANNEL_STATUS,
        types.MDC_DESTINATIONS,
        types.MEDIA,
        types.REFUSALS,
        types.PROTECTION,
    }
)


def fields_of(record: CounterRecord) -> Mapping[str, int | str]:
    """Return the fields of a counter's key by name, none if the type has no known key or the key is damaged."""
    key = record.key
    if record.type_id in types.STREAM_TYPES:
        return _stream_fields(record)
    if record.type_id in _CHANNEL_TYPES:
        return _with_text({}, "channel", key, 0)
    if record.type_id == types.LOCAL_SOCKADDR:
        return _with_text({"channel_status_id": _number(key[:4])}, "address", key, 4)
    if record.type_id == types.CLIENT_HEARTBEAT:
        return {"client_id": _number(key[:8])}
    if record.type_id == types.RECORDING_POSITION:
        fields: dict[str, int | str] = {"recording_id": _number(key[:8]), "session_id": _number(key[8:12])}
        return _with_text(fields, "source", key, 12)
    return {}


def _stream_fields(record: CounterRecord) -> Mapping[str, int | str]:
    owner = owner_of(record)
    if owner is None:
        return {}
    return {
        "registration_id": owner.registration_id,
        "session_id": owner.session_id,
        "stream_id": owner.stream_id,
        "channel": owner.channel,
    }


def _with_text(fields: dict[str, int | str], name: str, key: bytes, offset: int) -> Mapping[str, int | str]:
    """Add the text after the int32 length at `offset`; return no fields if it does not end within the key."""
    start = offset + 4
    length = _number(key[offset:start])
    if not 0 <= length <= len(key) - start:
        return {}
    fields[name] = key[start : start + length].decode(errors="replace")
    return fields


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)
