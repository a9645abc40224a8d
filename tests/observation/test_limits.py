"""What limits a stream, at the boundaries of the rules in `aeron_core.observation.limits`."""

from dataclasses import replace
from pathlib import Path

import pytest
from observed import (
    CHANNEL,
    IMAGE,
    PUBLICATION,
    SESSION_ID,
    SPY,
    STREAM_ID,
    SUBSCRIPTION,
    WINDOW,
    heartbeat,
    records_of,
    snapshot,
)

from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.observation import LogParameters, Party, StreamKind, limitations

STEP = WINDOW // 8
MTU = 1408
CONNECTED = {PUBLICATION: LogParameters(2 * WINDOW, MTU, WINDOW, None, is_connected=True)}
IPC = {"channel": "aeron:ipc"}


def publication(previous=None, others=(), logs=None, channel=None, **positions):
    records = records_of(channel, **positions) if channel else records_of(**positions)
    found = limitations(snapshot(heartbeat(), *records, logs=logs, at_s=1), previous, others)
    return found[0]


@pytest.mark.parametrize(
    ("position", "party"),
    [
        (0, Party.NONE),
        (WINDOW - STEP - 1, Party.NONE),
        (WINDOW - STEP, Party.SUBSCRIBER),
        (WINDOW + 100, Party.SUBSCRIBER),
    ],
)
def test_a_subscriber_of_ipc_limits_a_publisher_within_an_eighth_of_its_window(position, party):
    assert publication(**IPC, pub_pos=position, pub_lmt=WINDOW, ipc_sub=0).party is party


def test_ipc_without_subscribers_is_not_connected():
    found = publication(**IPC, pub_pos=10, pub_lmt=0)

    assert found.party is Party.NOT_CONNECTED
    assert found.sentence == "stream 1001 waits for a subscriber: none is connected"


def test_the_sentence_names_the_subscriber_its_process_and_the_bytes_behind():
    found = publication(**IPC, pub_pos=WINDOW, pub_lmt=WINDOW, ipc_sub=0)

    assert found.sentence == "subscriber 9 of process 4711 (app) holds stream 1001 back, 65.5 kB behind"
    assert (found.subscriber.registration_id, found.client.pid, found.behind) == (SUBSCRIPTION, 4711, WINDOW)
    assert found.is_publisher_limited


@pytest.mark.parametrize(("before", "is_polling"), [(0, True), (32, False)])
def test_a_subscriber_that_has_not_moved_since_the_previous_snapshot_does_not_poll(before, is_polling):
    earlier = snapshot(heartbeat(), *records_of(**IPC, pub_pos=WINDOW, ipc_sub=before))

    found = publication(earlier, **IPC, pub_pos=WINDOW, pub_lmt=WINDOW, ipc_sub=32)

    assert found.is_polling is is_polling
    assert found.sentence.endswith(", and does not poll") is not is_polling


def test_a_snapshot_of_another_run_of_the_driver_does_not_show_whether_a_subscriber_polls():
    earlier = snapshot(*records_of(**IPC, pub_pos=WINDOW, ipc_sub=0), pid=99)

    assert publication(earlier, **IPC, pub_pos=WINDOW, pub_lmt=WINDOW, ipc_sub=0).is_polling is None


def test_a_publication_with_window_and_an_open_sender_limit_is_not_limited():
    found = publication(logs=CONNECTED, pub_pos=1000, pub_lmt=WINDOW, snd_pos=900, snd_lmt=WINDOW)

    assert found.party is Party.NONE
    assert found.sentence == "nothing holds stream 1001 back"


@pytest.mark.parametrize(
    ("limit", "spy", "party"),
    [(WINDOW, {}, Party.NONE), (100, {}, Party.NOT_CONNECTED), (90, {"spy": 80}, Party.SUBSCRIBER)],
)
def test_without_its_log_a_publication_is_connected_if_its_limit_is_beyond_a_consumer(limit, spy, party):
    assert publication(pub_pos=100, pub_lmt=limit, snd_pos=100, snd_lmt=100, **spy).party is party


def test_a_log_shows_whether_a_publication_is_connected():
    logs = {PUBLICATION: LogParameters(2 * WINDOW, MTU, WINDOW, None, is_connected=False)}

    found = publication(logs=logs, pub_pos=0, pub_lmt=WINDOW, snd_pos=0, snd_lmt=0)

    assert found.sentence == "stream 1001 waits for a receiver: none is connected"


def test_a_spy_that_is_behind_the_sender_limits_the_publisher():
    found = publication(
        logs=CONNECTED, pub_pos=WINDOW, pub_lmt=WINDOW, snd_pos=WINDOW, snd_lmt=2 * WINDOW, spy=0
    )

    assert (found.party, found.subscriber.registration_id) == (Party.SUBSCRIBER, SPY)
    assert found.sentence.startswith("spy 11 of process 4711")


def test_a_sender_with_window_that_has_not_sent_limits_the_publisher():
    found = publication(logs=CONNECTED, pub_pos=WINDOW, pub_lmt=WINDOW, snd_pos=0, snd_lmt=WINDOW)

    assert (found.party, found.behind) == (Party.SENDER, WINDOW)
    assert found.sentence == "the sender of this driver holds stream 1001 back, 65.5 kB behind"


def test_a_peer_that_has_not_confirmed_limits_the_publisher_of_a_connection():
    channel = "aeron:lumberjack?endpoint=localhost:5044"
    found = publication(
        logs=CONNECTED, channel=channel, pub_pos=WINDOW, pub_lmt=WINDOW, snd_pos=0, snd_lmt=WINDOW
    )

    assert (found.party, found.kind) == (Party.PEER, StreamKind.CONNECTION)


@pytest.mark.parametrize(
    ("unsent", "window", "party"),
    [
        (5000, MTU - 1, Party.RECEIVER),
        (5000, MTU, Party.NONE),
        (1000, 999, Party.RECEIVER),
        (1000, 1000, Party.NONE),
        (0, 0, Party.NONE),
    ],
)
def test_flow_control_limits_a_sender_whose_window_is_shorter_than_its_data_and_a_datagram(
    unsent, window, party
):
    found = publication(logs=CONNECTED, pub_pos=unsent, pub_lmt=WINDOW, snd_pos=0, snd_lmt=window)

    assert (found.party, found.is_publisher_limited) == (party, False)


@pytest.mark.parametrize(
    ("high_water_mark", "position", "read", "party"),
    [
        (9000, 9000, 0, Party.SUBSCRIBER),
        (9000, 1000, 1000, Party.LOSS),
        (9000, 5000, 1000, Party.SUBSCRIBER),
        (1000, 1000, 1000, Party.RECEIVER),
        (10000, 10000, 10000, Party.RECEIVER),
    ],
)
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_the_largest_part_of_a_used_window_is_what_stops_the_sender(
    high_water_mark, position, read, party, is_elsewhere
):
    image = {"rcv_hwm": high_water_mark, "rcv_pos": position, "sub_pos": read}
    sent = {"pub_pos": 20000, "pub_lmt": WINDOW, "snd_pos": 10000, "snd_lmt": 10000}
    if is_elsewhere:
        others = [snapshot(heartbeat(), *records_of(**image), pid=2)]
        found = publication(logs=CONNECTED, others=others, **sent)
    else:
        found = publication(logs=CONNECTED, **sent, **image)

    assert found.party is party
    assert (found.client is not None) == (party is Party.SUBSCRIBER)


@pytest.mark.parametrize(
    ("window", "logs"),
    [
        (128 * 1024, {}),
        (64 * 1024, {IMAGE: LogParameters(128 * 1024, MTU, None, None, is_connected=False)}),
        (8192, {IMAGE: LogParameters(128 * 1024, MTU, None, 8192, is_connected=False)}),
        (4096, {"cubic": 4096}),
    ],
)
def test_a_subscriber_limits_an_image_that_uses_three_quarters_of_the_window_of_its_receiver(window, logs):
    cubic = {"cubic": logs.pop("cubic")} if "cubic" in logs else {}
    used = window * 3 // 4

    parties = [
        publication(logs=logs, rcv_hwm=length, rcv_pos=length, sub_pos=0, **cubic).party
        for length in (used - 1, used)
    ]

    assert parties == [Party.NONE, Party.SUBSCRIBER]


def test_a_gap_limits_an_image_whose_subscribers_have_read_all_before_it():
    found = publication(rcv_hwm=200_000, rcv_pos=1000, sub_pos=1000)

    assert found.party is Party.LOSS
    assert found.sentence == (
        "data lost on the way to driver driver of process 1 holds stream 1001 back: "
        "199.0 kB wait for a retransmission"
    )


def test_a_loss_names_the_address_of_the_last_entry_of_the_loss_report():
    entries = [
        LossEntry(1, 100, 1, last_ms, SESSION_ID, STREAM_ID, CHANNEL, source)
        for last_ms, source in ((5, "10.0.0.1:40"), (9, "10.0.0.2:40"), (7, "10.0.0.3:40"))
    ]
    found = snapshot(*records_of(rcv_hwm=200_000, rcv_pos=1000, sub_pos=1000))

    (limit,) = limitations(replace(found, losses=tuple(entries)))

    assert limit.source == "10.0.0.2:40"
    assert limit.sentence.endswith("199.0 kB from 10.0.0.2:40 wait for a retransmission")


SENT = {"pub_pos": 200_000, "pub_lmt": 200_000, "snd_pos": 100_000, "snd_lmt": 100_000}


def image_elsewhere(name, window, consumed, high_water_mark):
    logs = {IMAGE: LogParameters(128 * 1024, MTU, None, window, is_connected=False)}
    found = snapshot(
        *records_of(rcv_hwm=high_water_mark, rcv_pos=consumed, sub_pos=consumed), logs=logs, pid=2
    )
    return replace(found, driver=replace(found.driver, aeron_dir=Path(name)))


@pytest.mark.parametrize(
    ("near", "far"), [(80_000, 96_000), (80_000, 40_000)], ids=["slowest, as min", "fastest, as max"]
)
def test_the_receiver_whose_limit_is_that_of_the_sender_is_named(near, far):
    others = [image_elsewhere("/far", 20_000, far, far), image_elsewhere("/near", 20_000, near, near)]

    found = publication(logs=CONNECTED, others=others, **SENT)

    assert (found.party, found.driver.aeron_dir) == (Party.RECEIVER, Path("/near"))
    assert found.sentence == (
        "the flow control of the receiver in driver near of process 2 holds stream 1001 back, 100.0 kB behind"
    )


def test_a_receiver_that_allows_more_than_the_sender_may_send_is_not_named():
    others = [image_elsewhere("/fast", 20_000, 95_000, 95_000)]

    found = publication(logs=CONNECTED, others=others, **SENT)

    assert (found.party, found.driver) == (Party.RECEIVER, None)


@pytest.mark.parametrize(
    ("parameters", "receiver"),
    [
        ("endpoint=10.0.0.5:20121", "a receiver at 10.0.0.5:20121"),
        ("endpoint=[fd00::5]:20121", "a receiver at [fd00::5]:20121"),
        ("endpoint=224.0.1.1:20121", "a receiver"),
        ("endpoint=[ff02::1]:20121", "a receiver"),
        ("endpoint=10.0.0.5:20121|control=10.0.0.4:1|control-mode=dynamic", "a receiver"),
        ("control-mode=manual", "a receiver"),
    ],
)
def test_a_receiver_elsewhere_is_named_by_the_address_of_the_channel(parameters, receiver):
    found = publication(logs=CONNECTED, channel=f"aeron:udp?{parameters}", **SENT)

    assert found.sentence == f"the flow control of {receiver} holds stream 1001 back, 100.0 kB behind"


def test_counters_that_are_missing_limit_nothing():
    assert publication(pub_lmt=5).party is Party.NONE
