"""Error texts that clients of the reference driver match on: wrong channels.

Ours may add to these texts, but contain them.
"""

import pytest
from refusals import refusal

from aeron_core.errors import ErrorCode
from aeron_core.testing.pair import MS, S

UDP = "aeron:udp?endpoint=127.0.0.1:20121"


def test_without_a_configured_receive_buffer_the_window_is_compared_with_the_system_default(start_driver):
    lone = start_driver(socket_so_rcvbuf_length=0)
    channel = f"{UDP}|rcv-wnd=1g"

    error = refusal(lone, lone.client.add_subscription_async(channel, 1))

    assert (
        f"Initial window greater than SO_RCVBUF for channel: rcv-wnd=1073741824 so-rcvbuf=0 (OS default) "
        f"channel={channel}" in str(error)
    )


@pytest.mark.parametrize(
    ("fc", "text"),
    [
        ("nope,g:1", "Invalid flow control strategy name: nope from URI: {channel}"),
        (",g:1", "No flow control strategy name specified, URI: {channel}"),
        ("min,x:1", "Flow control options - unrecognised option, field: x:1, options: min,x:1"),
        ("min,,", "Flow control options - unrecognised option, field: , options: min,,"),
        ("min,g:", "Flow control options - unrecognised option, field: g:, options: min,g:"),
        ("tagged,t:", "Flow control options - unrecognised option, field: t:, options: tagged,t:"),
        ("max,g:1", "Flow control options - unrecognised option, field: g:1, options: max,g:1"),
        ("min,g:1a", "Flow control options - invalid group, field: g:1a, options: min,g:1a"),
        ("min,g:/", "Group count invalid, field: g:/, options: min,g:/"),
        ("min,g:/a", "Group count invalid, field: g:/a, options: min,g:/a"),
        ("min,g:1/99999999999", "Group count invalid, field: g:1/99999999999, options: min,g:1/9999"),
        ("min,g:1/2147483648", "Group count invalid, field: g:1/2147483648, options: min,g:1/2147483648"),
        ("min,t:5x", "Flow control options - invalid timeout, field: t:5x, options: min,t:5x"),
        (
            f"min,g:{'1' * 70}",
            f"Flow control options - number field too long (found 70, max 63), field: {'1' * 70}, options: min,g:1",
        ),
        (
            "max,rrwm:0",
            "Flow control options - invalid flow control retransmit receiver window multiple, field: rrwm:0, "
            "options: max,rrwm:0",
        ),
    ],
)
def test_an_invalid_flow_control_is_named_with_its_field_and_options(lone, fc, text):
    channel = f"aeron:udp?control=127.0.0.1:20121|control-mode=dynamic|fc={fc}"

    error = refusal(lone, lone.client.add_publication_async(channel, 1))

    assert text.format(channel=channel) in str(error)
    (record,) = lone.driver.errors()
    assert record.text.startswith("(22) Invalid argument")


def test_a_flow_control_of_groups_is_ignored_for_one_receiver_whatever_the_default_has(start_driver):
    lone = start_driver(unicast_flow_control="unicast,rrwm:4")

    assert lone.result(lone.client.add_publication_async(f"{UDP}|fc=max", 1))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("mtu=33", "mtuLength must be a multiple of FRAME_ALIGNMENT: mtuLength=33"),
        ("mtu=32", "mtuLength must be a > HEADER_LENGTH and <= MAX_UDP_PAYLOAD_LENGTH: mtuLength=32"),
        (
            "session-id=99999999999",
            "could not parse session-id=99999999999 as int32_t in URI: Numerical result out of range",
        ),
        ("init-term-id=1|term-id=2|term-offset=x", "could not parse term-offset=x in URI: "),
    ],
)
def test_an_invalid_number_in_a_channel_is_named(lone, query, text):
    assert text in str(refusal(lone, lone.client.add_publication_async(f"{UDP}|{query}", 1)))


def test_a_bad_response_correlation_id_is_logged(lone):
    refusal(lone, lone.client.add_publication_async(f"{UDP}|response-correlation-id=-3", 1))

    (record,) = lone.driver.errors()
    assert (
        "invalid response-correlation-id, must be a number greater than or equal to -1, or 'prototype'"
        in record.text
    )
    assert record.text.startswith("(22) Invalid argument")


@pytest.mark.parametrize(
    "channel", ["udp?endpoint=localhost:1", "aeron:", "aeron:tcp?endpoint=localhost:21345"]
)
@pytest.mark.parametrize("add", ["add_publication_async", "add_subscription_async"])
def test_an_unknown_scheme_or_medium_is_an_invalid_channel(lone, add, channel):
    registration = getattr(lone.client, add)(channel, 1)

    error = refusal(lone, registration)

    assert f"invalid URI scheme or transport: {channel}" in str(error)
    assert error.code is ErrorCode.INVALID_CHANNEL
    (record,) = lone.driver.errors()
    assert record.text.startswith("(-1) invalid channel")


@pytest.mark.parametrize("channel", [f"aeron-spy:{UDP}", "aeron-spy:aeron:ipc"])
def test_a_publication_to_a_spy_is_an_invalid_channel(lone, channel):
    error = refusal(lone, lone.client.add_publication_async(channel, 1))

    assert f"invalid URI scheme or transport: {channel}" in str(error)
    assert error.code is ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize(
    ("manual", "add"),
    [("add_publication", "add_destination_async"), ("add_subscription", "add_destination_async")],
)
def test_a_destination_of_an_unknown_medium_is_an_invalid_channel(lone, manual, add):
    channel = "aeron:tcp?endpoint=localhost:21345"
    owner = getattr(lone, manual)("aeron:udp?control-mode=manual", 1)

    error = refusal(lone, getattr(owner, add)(channel))

    assert f"invalid URI scheme or transport: {channel}" in str(error)
    assert "a driver loads plugins only when it starts: restart it after you have installed one" in str(error)
    assert error.code is ErrorCode.INVALID_CHANNEL


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ("aeron:ipc", "incorrect URI format for destination: aeron:ipc"),
        (
            "aeron:udp?endpoint=localhost:0",
            "endpoint has port=0 for send destination: channel=aeron:udp?endpoint=localhost:0: the port must be",
        ),
        (f"{UDP}|mtu=8k", f"destinations must not contain the key: mtu channel={UDP}|mtu=8k"),
        (f"aeron-spy:{UDP}", f"Aeron spies are invalid as send destinations: aeron-spy:{UDP}"),
    ],
)
def test_an_invalid_destination_is_refused_with_its_channel(lone, channel, text):
    publication = lone.add_publication("aeron:udp?control-mode=manual", 1)

    error = str(refusal(lone, publication.add_destination_async(channel)))

    assert text in error
    assert error.count(channel) == 2  # once from the client, once from the driver


def test_an_mtu_above_the_receivers_window_is_logged(pair):
    channel = "aeron:udp?endpoint=10.0.0.2:20121"
    pair.add_subscription(f"{channel}|rcv-wnd=4k", 1)
    pair.add_publication(f"{channel}|mtu=8k", 1)

    pair.run_for(300 * MS)

    (record,) = pair.receiver.errors()
    assert "mtuLength=8192 > initialWindowLength=4096" in record.text


@pytest.mark.parametrize(
    ("setting", "add", "channel"),
    [
        ("receiver_wildcard_port_range", "add_subscription_async", "aeron:udp?endpoint=127.0.0.1:0"),
        (
            "sender_wildcard_port_range",
            "add_publication_async",
            "aeron:udp?control=127.0.0.1:0|control-mode=dynamic",
        ),
    ],
)
def test_a_port_range_that_is_used_up_is_reported_with_its_bounds(start_driver, setting, add, channel):
    lone = start_driver(**{setting: (20700, 20701)})
    for stream_id in (1, 2):
        lone.result(getattr(lone.client, add)(channel, stream_id))

    error = refusal(lone, getattr(lone.client, add)(channel, 3))

    assert "no available ports in range 20700 20701" in str(error)
    assert channel in str(error)
    assert "no available ports in range 20700 20701" in lone.driver.errors()[0].text


@pytest.mark.parametrize(
    ("add", "channel"),
    [
        ("add_publication_async", "aeron:udp?endpoint=localhost:99999"),
        ("add_subscription_async", "aeron:udp?endpoint=localhost:99999"),
    ],
)
def test_a_port_out_of_range_is_named(lone, add, channel):
    error = refusal(lone, getattr(lone.client, add)(channel, 1))

    assert "port out of range: '99999'" in str(error)
    assert "Unresolved - endpoint=localhost:99999, name-and-port=localhost:99999" in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR


@pytest.mark.parametrize("add", ["add_publication_async", "add_subscription_async"])
def test_an_unknown_host_is_reported_and_logged(simulation, names, add):
    names.address = None
    driver = simulation.add_driver("10.0.0.1", name_resolver="names")
    registration = getattr(driver.connect(), add)("aeron:udp?endpoint=node:20121", 1)

    error = refusal(simulation, registration)

    (record,) = driver.errors()
    for text in (str(error), record.text):
        assert "Unable to resolve host=(node)" in text
        assert "Unresolved - endpoint=node:20121, name-and-port=node:20121" in text
    assert error.code is ErrorCode.UNKNOWN_HOST
    assert record.text.startswith("(-9) unknown host")


def test_a_failed_re_resolution_is_logged_with_the_name(simulation, names):
    driver = simulation.add_driver("10.0.0.1", name_resolver="names")
    simulation.result(driver.connect().add_publication_async("aeron:udp?endpoint=node:20121", 1))

    names.address = None
    simulation.run_for(8 * S)

    (record,) = driver.errors()
    assert "Unable to resolve host=(node)" in record.text
    assert "Unresolved - endpoint=node:20121, name-and-port=node:20121" in record.text


@pytest.mark.parametrize(
    ("owner", "destination", "text"),
    [
        (UDP, f"{UDP}|mtu=8k", "channel does not allow manual control"),
        ("aeron:ipc", f"{UDP}|mtu=8k", "unknown subscription client_id="),
        (UDP, "aeron:ipc?session-id=x", "could not parse session-id=x as int32_t in URI: "),
        (UDP, f"aeron-spy:{UDP}|session-id=x", "could not parse session-id=x as int32_t in URI: "),
    ],
)
def test_the_first_fault_of_a_receive_destination_is_that_of_the_reference(lone, owner, destination, text):
    subscription = lone.add_subscription(owner, 1)

    assert text in str(refusal(lone, subscription.add_destination_async(destination)))
