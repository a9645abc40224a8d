import pytest

from aeron_core.cli.doctor.ports import check_ports

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def socket_line(port, inode=4711, state="07"):
    rest = "00000000:00000000 00:00000000 00000000     0        0"
    return f"   1: 0100007F:{port:04X} 00000000:0000 {state} {rest} {inode} 2\n"


def with_sockets(patient, name, *lines):
    patient.write(f"/proc/net/{name}", HEADER + "".join(lines))


def test_default_ports_that_are_in_use_are_advice(patient):
    with_sockets(patient, "udp", socket_line(20123))

    findings = patient.findings(check_ports)

    assert findings["UDP port 20123"].health.value == "advice"
    assert findings["UDP port 20121"].health.value == "ok"


def test_a_port_of_a_given_channel_is_a_problem_and_its_process_is_named(patient):
    patient.channels.append("aeron:udp?endpoint=127.0.0.1:5000")
    with_sockets(patient, "udp", socket_line(5000, inode=99))
    patient.write("/proc/321/comm", "aeronmd\n")
    descriptors = patient.root / "proc" / "321" / "fd"
    descriptors.mkdir()
    (descriptors / "7").symlink_to("socket:[99]")

    assert patient.findings(check_ports).keys() == {"UDP port 5000"}
    assert patient.health(check_ports, "UDP port 5000") == ("problem", "in use by process 321 (aeronmd)")


def test_a_socket_of_another_user_has_no_name(patient):
    patient.channels.append("aeron:udp?endpoint=127.0.0.1:5000")
    with_sockets(patient, "udp6", socket_line(5000))

    found = patient.health(check_ports, "UDP port 5000")

    assert found == ("problem", "in use by a process that this user may not inspect")


def test_a_multicast_group_shares_its_port(patient):
    patient.channels.append("aeron:udp?endpoint=224.0.1.1:5000|interface=localhost")
    with_sockets(patient, "udp", socket_line(5000))

    assert patient.health(check_ports, "UDP port 5000") == ("ok", "1 socket")


@pytest.mark.parametrize(
    ("channel", "ports"),
    [
        ("aeron:udp?endpoint=localhost:0", set()),
        ("aeron:udp?control=localhost:6000|control-mode=dynamic|endpoint=localhost:6001", {"UDP port 6000"}),
        ("aeron:udp?control=localhost:6000|endpoint=localhost:6001", {"UDP port 6000", "UDP port 6001"}),
        ("aeron:lumberjack?endpoint=0.0.0.0:5044", {"TCP port 5044"}),
        ("aeron:udp?endpoint=name-without-port", set()),
        ("aeron:ipc", set()),
    ],
)
def test_the_ports_of_a_channel_are_checked(patient, channel, ports):
    patient.channels.append(channel)

    assert set(patient.findings(check_ports)) == ports


def test_only_listening_sockets_have_a_port_of_tcp(patient):
    patient.channels.append("aeron:lumberjack?endpoint=0.0.0.0:5044")
    with_sockets(patient, "tcp", socket_line(5044, state="01"))
    assert patient.health(check_ports, "TCP port 5044") == ("ok", "free")

    with_sockets(patient, "tcp", socket_line(5044, state="0A"))
    assert patient.health(check_ports, "TCP port 5044")[0] == "problem"


def test_sockets_that_cannot_be_read_are_unknown(patient):
    assert {finding.health.value for finding in patient.findings(check_ports).values()} == {"unknown"}
