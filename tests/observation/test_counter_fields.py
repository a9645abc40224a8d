import pytest
from observed import CHANNEL, CLIENT_ID, PUBLICATION, heartbeat, records_of

from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.observation import fields_of


def of_type(type_id, key):
    return CounterRecord(1, 1, type_id, 0, key.ljust(112, b"\0"), "", 0, 0, 0, 0)


def test_the_key_of_a_position_has_the_stream():
    (position,) = records_of(pub_pos=1)

    assert fields_of(position) == {
        "registration_id": PUBLICATION, "session_id": 7, "stream_id": 1001, "channel": CHANNEL,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("counter", "fields"),
    [
        (of_type(types.SEND_CHANNEL_STATUS, types.channel_key(CHANNEL)), {"channel": CHANNEL}),
        (of_type(types.PROTECTION, types.channel_key(CHANNEL)), {"channel": CHANNEL}),
        (of_type(types.REFUSALS, types.channel_key(CHANNEL)), {"channel": CHANNEL}),
        (
            of_type(types.LOCAL_SOCKADDR, types.local_address_key(8, "127.0.0.1:9")),
            {"channel_status_id": 8, "address": "127.0.0.1:9"},
        ),
        (heartbeat(), {"client_id": CLIENT_ID}),
        (
            of_type(types.RECORDING_POSITION, b"\x02" + bytes(7) + b"\x07\0\0\0" + b"\x01\0\0\0a"),
            {"recording_id": 2, "session_id": 7, "source": "a"},
        ),
        (of_type(types.SYSTEM, b"\xff" * 112), {}),
        (of_type(12345, b"\xff" * 112), {}),
    ],
)
def test_other_keys_are_decoded_by_type(counter, fields):
    assert fields_of(counter) == fields


@pytest.mark.parametrize(
    "type_id",
    [types.PUBLISHER_LIMIT, types.SEND_CHANNEL_STATUS, types.LOCAL_SOCKADDR, types.RECORDING_POSITION],
)
def test_a_text_that_does_not_end_within_its_key_makes_the_key_unknown(type_id):
    assert fields_of(of_type(type_id, b"\x7f" * 112)) == {}
