"""Error texts that clients of the reference driver match on; ours may say more, but contain them."""

import pytest

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.protocol import commands
from aeron_core.testing.pair import MS, S

UDP = "aeron:udp?endpoint=127.0.0.1:20121"
CLIENT_ID = 1_000_000
EXISTS = "option conflicts with existing subscription"


def refusal(lone, registration):
    lone.run_until(lambda: registration.is_done)
    with pytest.raises(RegistrationError) as raised:
        registration.poll()
    return raised.value


def channel_of(query):
    return f"{UDP}|{query}" if query else UDP


def send(lone, command):
    assert ManyToOneRingBuffer(lone.driver.cnc.to_driver).write(command.TYPE_ID, command.encode())
    lone.run_for(10 * MS)


def add_publication(lone, port, key):
    channel = f"aeron:udp?endpoint=127.0.0.1:20999|control=127.0.0.1:{port}|{key}"
    return channel, lone.client.add_publication_async(channel, 1)


def add_dynamic_publication(lone, port, key):
    channel = f"aeron:udp?control=127.0.0.1:{port}|control-mode=dynamic|{key}"
    return channel, lone.client.add_publication_async(channel, 1)


def add_subscription(lone, port, key):
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|interface=127.0.0.1|{key}"
    return channel, lone.client.add_subscription_async(channel, 1)


def add_destination(lone, port, key):
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|interface=127.0.0.1|{key}"
    subscription = lone.add_subscription(f"aeron:udp?control-mode=manual|{key}", 1)
    return channel, subscription.add_destination_async(channel)


KINDS = [add_publication, add_dynamic_publication, add_subscription, add_destination]


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_a_port_in_use_is_reported_with_the_whole_channel_of_the_client(lone, first, second):
    lone.result(first(lone, 20121, "alias=first|tags=1001")[1])

    # The second alias is dropped from the parsed channel, but belongs to what the client wrote.
    channel, registration = second(lone, 20121, "alias=second|tags=1002|alias=third")
    error = refusal(lone, registration)

    assert channel in str(error)
    assert error.code is ErrorCode.GENERIC_ERROR
    (record,) = lone.driver.errors()
    assert channel in record.text
    assert "(98) Address already in use" in record.text


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (UDP, f"{UDP}|control-mode=response", "isResponse=true"),
        (f"{UDP}|control-mode=response|session-id=5", f"{UDP}|session-id=5", "isResponse=false"),
        (f"{UDP}|reliable=false", UDP, "reliable=true"),
        (UDP, f"{UDP}|rejoin=false", "rejoin=false"),
        (UDP, f"{UDP}|media-rcv-ts-offset=8", "media-rcv-ts-offset=8 "),
        (f"{UDP}|channel-rcv-ts-offset=8", UDP, "channel-rcv-ts-offset=-1 (not specified)"),
        (UDP, f"{UDP}|channel-rcv-ts-offset=reserved", "channel-rcv-ts-offset=-8 (reserved)"),
    ],
)
def test_a_conflict_of_subscriptions_names_what_was_asked_and_both_channels(lone, first, second, text):
    lone.add_subscription(first, 1)

    error = refusal(lone, lone.client.add_subscription_async(second, 1))

    assert f"{EXISTS}: {text} existingChannel={first} channel={second}" in str(error)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("", "so-sndbuf=64k", "so-sndbuf=65536 does not match existing value of OS default:"),
        ("so-sndbuf=64k", "so-sndbuf=32k", "so-sndbuf=32768 does not match existing value of 65536:"),
        ("", "so-rcvbuf=256k", "so-rcvbuf=262144 does not match existing value of 131072:"),
        ("so-rcvbuf=256k", "", "so-rcvbuf=131072 does not match existing value of 262144:"),
        (
            "",
            "so-rcvbuf=64k",
            "Initial window greater than SO_RCVBUF for channel: rcv-wnd=131072 so-rcvbuf=65536",
        ),
        (
            "so-rcvbuf=256k",
            "rcv-wnd=256k",
            "Initial window greater than SO_RCVBUF for channel: rcv-wnd=262144 so-rcvbuf=131072",
        ),
        ("", "rcv-wnd=1m|so-rcvbuf=64k|reliable=false", f"{EXISTS}: reliable=false"),
        ("", "so-sndbuf=64k|rejoin=false", f"{EXISTS}: rejoin=false"),
    ],
)
def test_a_subscription_with_other_socket_buffers_is_refused_with_both_channels(lone, first, second, text):
    existing, channel = channel_of(first), channel_of(second)
    lone.add_subscription(existing, 1)

    error = refusal(lone, lone.client.add_subscription_async(channel, 1))

    assert f"{text} existingChannel={existing} channel={channel}" in str(error)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("", "so-sndbuf=64k", "so-sndbuf=65536 does not match existing value of OS default:"),
        ("", "so-rcvbuf=64k|so-sndbuf=64k", "so-rcvbuf=65536 does not match existing value of 131072:"),
        ("so-sndbuf=4k", "mtu=8k|so-sndbuf=16k", "SO_SNDBUF for endpoint: mtu=8192 so-sndbuf=4096"),
    ],
)
def test_a_publication_with_other_socket_buffers_is_refused_with_both_channels(lone, first, second, text):
    existing, channel = channel_of(first), channel_of(second)
    lone.add_publication(existing, 1)

    error = refusal(lone, lone.client.add_publication_async(channel, 2))

    assert f"{text} existingChannel={existing} channel={channel}" in str(error)


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


@pytest.mark.parametrize("add", ["add_publication_async", "add_subscription_async"])
def test_a_uri_that_is_too_long_is_logged_up_to_the_maximum_length(lone, add):
    channel = f"{UDP}|alias=" + "x" * 5000
    command = commands.AddPublication(CLIENT_ID, 7, 1, channel)
    if add == "add_subscription_async":
        command = commands.AddSubscription(CLIENT_ID, 7, -1, 1, channel)

    send(lone, command)

    (record,) = lone.driver.errors()
    assert channel[:4095] in record.text
    assert f"URI length ({len(channel)}) exceeds max supported length (4095): " in record.text


def test_an_mtu_above_the_receivers_window_is_logged(pair):
    channel = "aeron:udp?endpoint=10.0.0.2:20121"
    pair.add_subscription(f"{channel}|rcv-wnd=4k", 1)
    pair.add_publication(f"{channel}|mtu=8k", 1)

    pair.run_for(300 * MS)

    (record,) = pair.receiver.errors()
    assert "mtuLength=8192 > initialWindowLength=4096" in record.text


def test_a_static_counter_is_refused_if_a_counter_of_a_client_has_its_ids(lone):
    counter = lone.result(lone.client.add_counter_async(1101, b"", "of a client"))

    send(lone, commands.AddStaticCounter(CLIENT_ID, 7, counter.registration_id, 1101, b"", "static"))

    (record,) = lone.driver.errors()
    assert record.text.startswith("(-11) generic error, see message")
    assert (
        f"cannot add static counter, because a non-static counter exists (counterId={counter.id}) for "
        f"typeId=1101 and registrationId={counter.registration_id}"
    ) in record.text


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


@pytest.mark.parametrize("channel", ["aeron:ipc?", f"{UDP}|"])
def test_a_clashing_session_is_named_with_its_stream_and_channel(lone, channel):
    lone.add_exclusive_publication(f"{channel}session-id=5", 1)

    error = refusal(lone, lone.client.add_exclusive_publication_async(f"{channel}session-id=5", 1))

    assert (
        f"existing publication has clashing sessionId=5 for streamId=1 channel={channel}session-id=5"
        in str(error)
    )


def test_a_publication_with_other_simulation_of_connections_is_refused(lone):
    lone.add_publication(UDP, 1)

    error = refusal(lone, lone.client.add_publication_async(f"{UDP}|ssc=true", 1))

    assert "existing publication has different spies simulate connection: requested=true" in str(error)


@pytest.mark.parametrize("query", ["so-rcvbuf=256k", "so-sndbuf=64k"])
def test_a_manual_subscription_shares_an_endpoint_whatever_its_socket_buffers(lone, query):
    first = lone.add_subscription(f"{UDP}|{query}", 1)

    second = lone.add_subscription(f"{UDP}|control-mode=manual", 1)

    assert second.channel_status_id == first.channel_status_id


@pytest.mark.parametrize("channel", ["aeron:ipc?", f"aeron-spy:{UDP}|"])
@pytest.mark.parametrize("query", ["gtag=x", "nak-delay=x"])
def test_keys_of_a_receiver_do_not_matter_in_shared_memory(lone, channel, query):
    lone.add_subscription(f"{channel}{query}", 1)

    assert lone.driver.errors() == []


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


def test_an_ipc_publication_is_shared_with_any_value_of_simulated_connections(lone):
    first = lone.add_publication("aeron:ipc", 1)

    second = lone.add_publication("aeron:ipc?ssc=true", 1)

    assert second.session_id == first.session_id


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            commands.RemovePublication(CLIENT_ID, 7, 99),
            f"unknown publication client_id={CLIENT_ID} registration_id=99",
        ),
        (
            commands.RemoveSubscription(CLIENT_ID, 7, 99),
            f"unknown subscription client_id={CLIENT_ID} registration_id=99",
        ),
        (
            commands.RemoveCounter(CLIENT_ID, 7, 99),
            f"unknown counter client_id={CLIENT_ID} registration_id=99",
        ),
        (commands.RejectImage(CLIENT_ID, 7, 99, 0, ""), "Unable to resolve image for correlationId=99"),
        (
            commands.RejectImage(CLIENT_ID, 7, 99, 0, "x" * 1024),
            "Invalidation reason_text must be 1023 bytes or less",
        ),
        (commands.AddDestination(CLIENT_ID, 7, 99, UDP), "unknown publication registration_id=99"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unknown_resource_is_named_by_its_ids(lone, command, text):
    send(lone, command)

    (record,) = lone.driver.errors()
    assert text in record.text


def test_a_command_that_is_too_short_is_logged_with_its_type_and_length(lone):
    ring = ManyToOneRingBuffer(lone.driver.cnc.to_driver)
    command = commands.AddPublication

    assert ring.write(command.TYPE_ID, bytes(23))
    assert ring.write(0x77, bytes(24))
    lone.run_for(10 * MS)

    short, unknown = lone.driver.errors()
    assert f"command={command.TYPE_ID} too short: length=23" in short.text
    assert "command=119 unknown" in unknown.text


def test_manual_destinations_are_refused_with_the_id_of_the_publication(lone):
    publication = lone.add_publication(UDP, 1)
    command = commands.AddDestination(CLIENT_ID, 7, publication.registration_id, UDP)

    send(lone, command)

    (record,) = lone.driver.errors()
    assert (
        f"channel does not allow manual control of destinations: "
        f"publication_registration_id={publication.registration_id}" in record.text
    )
