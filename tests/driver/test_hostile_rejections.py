"""Forged rejections of a stream: reported to clients at a limited rate, and within a part of the error log."""

import pytest

from aeron_core.protocol.frames.error import ErrorFrame
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedPeer, encode_frame
from aeron_core.testing.pair import MS

STREAM = {"session_id": 77, "stream_id": 1001}

LOG_LENGTH = 4 * 1024 * 1024


class Rejecting:
    """A host with any number of receivers, which reject the stream of a publication."""

    def __init__(self, pair):
        self.pair = pair
        self.reported = []
        publisher = pair.sender.connect(on_publication_error=self.reported.append)
        uri = "aeron:udp?control=10.0.0.1:20120|control-mode=dynamic|session-id=77"
        pair.result(
            publisher.add_exclusive_publication_async(f"{uri}|init-term-id=7|term-id=7|term-offset=0", 1001)
        )
        self._socket = SimulatedPeer(pair.network, "10.0.0.9", 40000, (pair.SENDER, 20120))

    def join(self, receiver_ids):
        for receiver_id in receiver_ids:
            sm = StatusMessage(receiver_id=receiver_id, consumption_term_id=7, receiver_window=1024, **STREAM)
            self._socket.send(encode_frame(sm))
        self.pair.run_for(1 * MS)

    def reject(self, receiver_ids, text_length):
        for receiver_id in receiver_ids:
            error = ErrorFrame(receiver_id=receiver_id, **STREAM)
            # Not UTF-8: each byte becomes three in a report.
            error.text = "\udcff" * text_length
            self._socket.send(encode_frame(error))
        self.pair.run_for(1 * MS)


@pytest.fixture
def rejecting(pair):
    return Rejecting(pair)


def test_a_flood_of_rejections_is_reported_at_a_limited_rate(pair, rejecting):
    for first in range(0, 3000, 30):
        receiver_ids = range(first, first + 30)
        rejecting.join(receiver_ids)
        rejecting.reject(receiver_ids, 1023)
        pair.run_for(8 * MS)

    # 3000 in one second; 64 in 100 ms are reported.
    assert 600 < len(rejecting.reported) < 800
    assert pair.sender.client_errors == []
    *single, rest = pair.sender.errors()
    assert len(single) == 64
    assert rest.text.endswith(": further errors, of which this log keeps 64 texts")
    assert sum(len(record.text.encode()) for record in single) < LOG_LENGTH // 4


def test_rejections_beyond_the_limit_are_reported_when_they_are_repeated(pair, rejecting):
    receiver_ids = range(200)
    rejecting.join(receiver_ids)

    for _ in range(5):
        rejecting.reject(receiver_ids, 100)
        pair.run_for(200 * MS)

    assert sorted(error.receiver_id for error in rejecting.reported) == list(receiver_ids)
