import pytest

RANGE = (20200, 20202)
ANY_PORT = "aeron:udp?endpoint=127.0.0.1:0"


def port_of(lab, probe):
    return lab.address_of(probe).port


def test_receivers_with_port_0_get_the_ports_of_the_range_in_turn(lab):
    receivers = [lab.open_receive(ANY_PORT, wildcard_ports=RANGE) for _ in range(3)]

    assert [port_of(lab, receiver) for receiver in receivers] == [20200, 20201, 20202]


def test_a_port_in_use_by_another_socket_is_skipped(lab):
    lab.open_socket(20200)

    assert port_of(lab, lab.open_receive(ANY_PORT, wildcard_ports=RANGE)) == 20201


def test_a_closed_port_is_the_last_to_be_reused(lab):
    first = lab.open_receive(ANY_PORT, wildcard_ports=RANGE)
    lab.transport.close_endpoint(first.endpoint)

    taken = [port_of(lab, lab.open_receive(ANY_PORT, wildcard_ports=RANGE)) for _ in range(3)]

    assert taken == [20201, 20202, 20200]


def test_without_a_free_port_the_range_is_named(lab):
    for _ in range(3):
        lab.open_receive(ANY_PORT, wildcard_ports=RANGE)

    with pytest.raises(
        OSError, match=r"no available ports in range 20200 20202.* AERON_RECEIVER_WILDCARD_PORT_RANGE$"
    ):
        lab.open_receive(ANY_PORT, wildcard_ports=RANGE)


def test_a_sender_without_a_free_port_names_its_own_range(lab):
    channel = "aeron:udp?control=127.0.0.1:0|control-mode=dynamic"
    for _ in range(3):
        lab.open_send(channel, wildcard_ports=RANGE)

    with pytest.raises(
        OSError, match=r"no available ports in range 20200 20202.* AERON_SENDER_WILDCARD_PORT_RANGE$"
    ):
        lab.open_send(channel, wildcard_ports=RANGE)


def test_an_error_other_than_a_used_port_is_raised_unchanged(lab):
    def refuse(options):
        raise OSError(13, f"cannot bind {options.bind}: Permission denied")

    with pytest.raises(OSError, match=r"cannot bind 127\.0\.0\.1:1: Permission denied"):
        lab.open_receive(ANY_PORT, wildcard_ports=(0, 9), open_datagrams=refuse)


def test_a_port_that_the_channel_names_need_not_be_in_the_range(lab):
    receiver = lab.open_receive("aeron:udp?endpoint=127.0.0.1:20121", wildcard_ports=RANGE)

    assert port_of(lab, receiver) == 20121


def test_senders_use_the_port_range_only_with_a_control_address(lab):
    plain = lab.open_send("aeron:udp?endpoint=127.0.0.1:20121", wildcard_ports=RANGE)
    controlled = lab.open_send("aeron:udp?endpoint=127.0.0.1:20121|control=127.0.0.1:0", wildcard_ports=RANGE)

    assert port_of(lab, plain) not in range(20200, 20203)
    assert port_of(lab, controlled) == 20200
