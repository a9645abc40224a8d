import pytest

from aeron_core.cli.doctor.network import check_interfaces, check_offload, check_socket_buffers

ROUTES = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
DEFAULT = "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
MULTICAST = "eth1\t000000E0\t00000000\t0001\t0\t0\t0\t000000F0\t0\t0\t0\n"
LOCAL = "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"


@pytest.mark.parametrize(("limit", "health"), [("4194304", "ok"), ("2097152", "ok"), ("212992", "advice")])
def test_socket_buffers_want_two_mebibytes(patient, limit, health):
    patient.write("/proc/sys/net/core/rmem_max", f"{limit}\n")

    finding = patient.findings(check_socket_buffers)["net.core.rmem_max"]

    assert (finding.health.value, finding.found) == (health, limit)
    assert "sysctl -w net.core.rmem_max=2097152" in finding.change


def test_settings_may_want_more(patient):
    patient.settings["socket_so_sndbuf_length"] = "8m"
    patient.write("/proc/sys/net/core/wmem_max", "4194304\n")

    finding = patient.findings(check_socket_buffers)["net.core.wmem_max"]

    assert finding.health.value == "advice"
    assert finding.wanted == "8m for so-sndbuf= of channels; 8m by the settings"


def test_a_container_that_hides_the_limit_is_asked_by_a_socket(patient):
    patient.machine.granted = 212_992

    assert patient.health(check_socket_buffers, "net.core.rmem_max") == ("advice", "212992, by a socket")


def test_without_the_limit_and_a_socket_the_buffer_is_unknown(patient):
    patient.machine.granted = None

    assert patient.health(check_socket_buffers, "net.core.rmem_max")[0] == "unknown"


@pytest.mark.parametrize(
    ("probed", "setting", "outcome"),
    [
        (True, "auto", ("ok", "supported")),
        (False, "auto", ("advice", "not supported")),
        (True, "off", ("advice", "supported, but off")),
        (None, "auto", ("unknown", "no UDP socket can be opened")),
    ],
)
@pytest.mark.parametrize(
    ("offload", "what"), [("gso", "UDP segmentation (GSO)"), ("gro", "UDP coalescing (GRO)")]
)
def test_offload_is_probed(patient, probed, setting, outcome, offload, what):
    patient.machine.offload[offload] = probed
    patient.settings[f"udp_{offload}"] = setting

    assert patient.health(check_offload, what) == outcome


def test_interfaces_that_are_up_are_shown(patient):
    for name, flags in (("lo", "0x9"), ("eth0", "0x1003"), ("eth1", "0x1002"), ("odd", "up")):
        patient.write(f"/sys/class/net/{name}/flags", f"{flags}\n")

    assert patient.health(check_interfaces, "interfaces") == ("ok", "eth0 (multicast), lo")


def test_an_interface_without_multicast_is_reported(patient):
    patient.write("/sys/class/net/lo/flags", "0x9\n")

    assert patient.health(check_interfaces, "interfaces") == ("advice", "lo")


@pytest.mark.parametrize(
    ("routes", "outcome"),
    [
        (DEFAULT + LOCAL, ("ok", "eth0 (default route)")),
        (DEFAULT + MULTICAST, ("ok", "eth1 (route)")),
        (LOCAL, ("advice", "none")),
        ("damaged\n", ("advice", "none")),
    ],
)
def test_the_route_of_multicast_is_found(patient, routes, outcome):
    patient.write("/proc/net/route", ROUTES + routes)

    assert patient.health(check_interfaces, "route of multicast") == outcome


def test_a_network_without_its_files_is_unknown(patient):
    assert {finding.health.value for finding in patient.findings(check_interfaces).values()} == {"unknown"}
