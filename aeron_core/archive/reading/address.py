"""Address of a running Aeron Archive: `aeron:archive?control-request=<channel>|control-response=<channel>|…`.

The values of three keys are channels, which contain `|` themselves: a part belongs to the channel before it unless its
key is one of KEYS. No key of a channel is.

Not here: the session (link). Invariant: an address is immutable and contains no secret.
"""

from __future__ import annotations

import os
import socket
import stat
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Self

from aeron_core.errors import ChannelUriError, ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri import values
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.keys import CHANNEL_KEYS

PREFIX: Final = "aeron:archive"

#: An invented number, "ARCH" in ASCII: no program is likely to use it for a stream of its own.
_REPLAY_STREAM_ID: Final = 0x41524348
#: Permissions of users that neither own a file nor belong to its group.
_OF_STRANGERS: Final = 0o007
#: The keys and their meaning, as the documentation has them.
KEYS: Final[Mapping[str, str]] = {
    "control-request": "control channel of the archive, such as `aeron:udp?endpoint=archive:8010`; `aeron:ipc` with "
    "the archive's own driver; must be given",
    "control-response": "channel of this client as the archive reaches it; default: `aeron:ipc` with the archive's own "
    "driver, otherwise the address of this machine on the route to the archive, with a free port",
    "replay": "channel of the replays; default: that of the responses",
    "dir": "directory of the media driver on the machine that reads; default: AERON_DIR, or that of the user",
    "control-request-stream-id": "stream id of the requests; default: 10",
    "control-response-stream-id": "stream id of the responses; default: 20",
    "replay-stream-id": "stream id of the replays, which no other stream of the replay channel may have; default: "
    f"{_REPLAY_STREAM_ID}",
    "credentials-file": "file whose content, without a final newline, is sent as credentials, on each machine that "
    "reads",
    "message-timeout": "maximum wait for a connection or a response; default: 10s",
    "reconnect-timeout": "how long a lost archive is waited for before the query fails; default: 60s",
    "recording-ids": "only these recordings, with commas between the ids",
    "recording-stream-id": "only recordings of this stream id",
    "recording-channel": "only recordings whose channel contains this text",
}
_CHANNELS: Final = frozenset({"control-request", "control-response", "replay"})
_EXAMPLE: Final = "aeron:archive?control-request=aeron:udp?endpoint=archive:8010"
_NS_PER_S: Final = 1_000_000_000
_MAX_CREDENTIALS_LENGTH: Final = 65_536
#: Any port: a UDP socket sends nothing when it is connected.
_DISCARD_PORT: Final = 9


def is_address(where: str | Path) -> bool:
    """Return whether a text is the address of a running archive, well-formed or not."""
    text = str(where)
    return text == PREFIX or text.startswith(f"{PREFIX}?")


@frozen(slots=True, kw_only=True)
class ArchiveAddress:
    """How to reach an archive, and which of its recordings to read."""

    text: str
    control_request: ChannelUri
    control_response: ChannelUri | None = None  # None: chosen by the machine that connects
    replay: ChannelUri | None = None  # None: as `control_response`
    aeron_dir: str | None = None  # None: that of the environment
    control_request_stream_id: int = 10
    control_response_stream_id: int = 20
    replay_stream_id: int = _REPLAY_STREAM_ID
    credentials_file: str | None = None
    message_timeout_s: float = 10.0
    reconnect_timeout_s: float = 60.0
    recording_ids: frozenset[int] | None = None  # None: all
    recording_stream_id: int | None = None  # None: all
    recording_channel: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address written as `text`; raise ChannelUriError, which names the key and the allowed values."""
        given = _split(text)
        if "control-request" not in given:
            raise ChannelUriError(f"no control-request in {text!r}: must be given, such as {_EXAMPLE}")
        names = {"control-request": "control_request", "control-response": "control_response"}
        fields: dict[str, object] = {"text": text}
        for key, value in given.items():
            try:
                field, parsed = _parse(key, value)
            except ConfigurationError as error:
                raise ChannelUriError(f"{key}={value} in {text!r}: {error}") from None
            fields[names.get(key, field)] = parsed
        return cls(**fields)  # type: ignore[arg-type]

    @property
    def identity(self) -> str:
        """The part of the address that identifies the archive: its control channel without tuning parameters."""
        channel = self.control_request
        where = channel.get("endpoint") or channel.get("control") or self.aeron_dir or ""
        return f"{PREFIX}?{channel.media}={where}|stream={self.control_request_stream_id}"

    def response_channel(self) -> str:
        """Return the channel of the responses on this machine.

        Raises ChannelUriError if it is not given and this machine has no route to the archive.
        """
        if self.control_response is not None:
            return str(self.control_response)
        if self.control_request.is_ipc:
            return str(ChannelUri("ipc"))
        own = ChannelUri("udp", {"endpoint": f"{self._own_address()}:0"})
        # Responses and replays are as secret as requests.
        return str(own.with_params({"security": self.control_request.get("security")}))

    def replay_channel(self) -> str:
        """Return the channel of the replays on this machine; raises as `response_channel`."""
        return self.response_channel() if self.replay is None else str(self.replay)

    def credentials(self) -> bytes:
        """Return what the credentials file contains, nothing without one; raise ConfigurationError if unreadable."""
        if self.credentials_file is None:
            return b""
        try:
            with open(self.credentials_file, "rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                data = file.read(_MAX_CREDENTIALS_LENGTH + 1)
        except OSError as error:
            raise ConfigurationError(
                f"credentials-file={self.credentials_file}: {error.strerror}: must be a file that this user may read; "
                "create it on each machine that reads, with the credentials of the archive"
            ) from None
        if len(data) > _MAX_CREDENTIALS_LENGTH:
            raise ConfigurationError(
                f"credentials-file={self.credentials_file}: must have at most {_MAX_CREDENTIALS_LENGTH} bytes"
            )
        if mode & _OF_STRANGERS:
            # Not refused: clusters distribute such files with modes of their own.
            warnings.warn(
                f"credentials-file={self.credentials_file}: mode {mode:04o}: every user of this machine has access to "
                "the credentials; chmod 600 it, or 640 for a group",
                stacklevel=2,
            )
        return data.removesuffix(b"\n")

    def selects(self, recording_id: int, stream_id: int, channel: str) -> bool:
        """Return whether a recording is to be read."""
        return (
            (self.recording_ids is None or recording_id in self.recording_ids)
            and (self.recording_stream_id is None or self.recording_stream_id == stream_id)
            and self.recording_channel in channel
        )

    def _own_address(self) -> str:
        """Return the address from which this machine sends to the archive."""
        peer = self.control_request.get_address("endpoint", None)
        if peer is None:
            raise ChannelUriError(
                f"no control-response in {self.text!r}: must be given with a control-request without endpoint"
            )
        try:
            found = socket.getaddrinfo(peer.host, _DISCARD_PORT, type=socket.SOCK_DGRAM)
            family, kind, protocol, _, target = found[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(target)
                host: str = probe.getsockname()[0]
        except OSError as error:
            raise ChannelUriError(
                f"control-request={self.control_request}: no route to {peer.host}: {error.strerror}; correct the host, "
                "or give control-response"
            ) from None
        return f"[{host}]" if ":" in host else host


def _split(text: str) -> dict[str, str]:
    """Return the values by key; those of channels with all parts that belong to them."""
    given: dict[str, str] = {}
    current = ""
    for part in text.removeprefix(PREFIX).removeprefix("?").split("|"):
        key, equals, value = part.partition("=")
        if equals and key in KEYS:
            if key in given:
                raise ChannelUriError(f"key {key} in {text!r}: is given twice; remove one of them")
            if not value:
                raise ChannelUriError(f"{key}= in {text!r}: must have a value: {KEYS[key]}")
            current, given[key] = key, value
        elif current in _CHANNELS and part and not _is_misspelt(key, value):
            given[current] += f"|{part}"
        elif part:
            raise ChannelUriError(f"key {key!r} in {text!r}: {_hint(key)}")
    return given


def _is_misspelt(key: str, value: str) -> bool:
    """Return whether a part after a channel is likely meant for the archive: channels do not contain channels."""
    return value.startswith("aeron:") or (
        key not in CHANNEL_KEYS and bool(get_close_matches(key, KEYS, n=1, cutoff=0.8))
    )


def _hint(key: str) -> str:
    near = get_close_matches(key.lower(), KEYS, n=1)
    return f"did you mean {near[0]}?" if near else f"must be one of {', '.join(KEYS)}"


def _parse(key: str, value: str) -> tuple[str, object]:
    """Return the name of the field of `key`, and its parsed value; raise ConfigurationError for a wrong one."""
    field = key.replace("-", "_")
    if key in _CHANNELS:
        channel = ChannelUri.parse(value)
        if channel.is_spy or channel.media == "archive":
            raise ConfigurationError("must be a channel such as aeron:udp?endpoint=archive:8010 or aeron:ipc")
        return field, channel
    match key:
        case "dir":
            return "aeron_dir", value
        case "message-timeout" | "reconnect-timeout":
            return f"{field}_s", _seconds(value)
        case "recording-ids":
            return field, _ids(value)
        case _ if key.endswith("stream-id"):
            return field, values.parse_int32(value)
    return field, value


def _seconds(value: str) -> float:
    duration_ns = values.parse_duration_ns(value)
    if duration_ns == 0:
        raise ConfigurationError("must be more than 0")
    return duration_ns / _NS_PER_S


def _ids(value: str) -> frozenset[int]:
    parts = value.split(",")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise ConfigurationError("must be recording ids with commas between them, such as 1,2")
    return frozenset(map(int, parts))
