"""Messages of the Archive control protocol, of clients and of an Archive: decoded as they are encoded, or refused."""

from __future__ import annotations

import json

from aeron_core.errors import ProtocolError
from aeron_core.protocol.archive.requests import decode_request
from aeron_core.protocol.archive.responses import ArchivePing, decode_event, decode_response
from targets._messages import VECTORS
from targets._texts import check_text

#: Entries of the catalogue, which no message has, and a message that clients skip.
SKIPPED = {20, 21, ArchivePing.TEMPLATE_ID}


def seeds() -> list[bytes]:
    samples = json.loads((VECTORS / "archive" / "messages.json").read_text())
    data = [bytes.fromhex(sample["hex"]) for sample in samples]
    return [each for each in data if int.from_bytes(each[2:4], "little") not in SKIPPED]


def check(data: bytes) -> bool:
    accepted = False
    for decode in (decode_request, decode_response, decode_event):
        try:
            message = decode(data)
        except ProtocolError as error:
            check_text(error)
            continue
        if message is not None:
            repr(message)
            assert decode(message.encode()) == message
            accepted = True
    return accepted
