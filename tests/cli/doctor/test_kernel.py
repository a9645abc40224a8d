import pytest

from aeron_core.cli.doctor.kernel import check_clock, check_huge_pages, check_kernel

SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
PAGES = "/sys/kernel/mm/transparent_hugepage"


@pytest.mark.parametrize(
    ("release", "health"),
    [
        ("6.18.44-fc\n", "ok"),
        ("5.0.0-23-generic\n", "ok"),
        ("4.18.0-553.el8_10.x86_64\n", "advice"),
        ("3.10.0-1160.el7\n", "advice"),
        ("10.1\n", "ok"),
        ("next\n", "unknown"),
    ],
)
def test_a_kernel_without_udp_coalescing_is_old(patient, release, health):
    patient.write("/proc/sys/kernel/osrelease", release)

    assert patient.health(check_kernel, "kernel") == (health, release.strip())


@pytest.mark.parametrize(
    ("source", "health"),
    [("tsc", "ok"), ("kvm-clock", "ok"), ("arch_sys_counter", "ok"), ("hpet", "advice"), ("xen", "advice")],
)
def test_a_clock_source_that_needs_system_calls_is_advised_against(patient, source, health):
    patient.write(SOURCE, f"{source}\n")

    assert patient.health(check_clock, "clock source") == (health, source)


def test_a_slow_and_coarse_clock_is_reported(patient):
    patient.machine.resolution_ns, patient.machine.read_ns = 4_000_000, 1_100

    assert patient.health(check_clock, "clock resolution") == ("advice", "4000000 ns")
    assert patient.health(check_clock, "clock read") == ("advice", "1100 ns")


@pytest.mark.parametrize(
    ("enabled", "defrag", "health"),
    [
        ("always [madvise] never", "always defer [madvise] never", "ok"),
        ("[always] madvise never", "[always] defer madvise never", "advice"),
        ("always madvise [never]", "[always] defer madvise never", "ok"),
    ],
)
def test_synchronous_defragmentation_is_advised_against(patient, enabled, defrag, health):
    patient.write(f"{PAGES}/enabled", enabled)
    patient.write(f"{PAGES}/defrag", defrag)

    assert patient.health(check_huge_pages, "transparent huge pages")[0] == health


@pytest.mark.parametrize(
    ("check", "what"),
    [
        (check_kernel, "kernel"),
        (check_clock, "clock source"),
        (check_huge_pages, "transparent huge pages"),
    ],
)
def test_a_kernel_without_its_files_is_unknown(patient, check, what):
    assert patient.health(check, what)[0] == "unknown"
