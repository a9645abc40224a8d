import pytest

from aeron_core.cli.doctor.cgroups import cgroup_limit
from aeron_core.cli.doctor.processors import check_governor, check_isolation, check_processors, parse_list

MOUNTS = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
CONTAINER = "processor time of the container"


def with_processors(patient, allowed, online="0-7", isolated=""):
    patient.write("/proc/self/status", f"Name:\tpython\nCpus_allowed_list:\t{allowed}\n")
    patient.write("/sys/devices/system/cpu/online", f"{online}\n")
    patient.write("/sys/devices/system/cpu/isolated", f"{isolated}\n")


def with_group(patient, path="/", **files):
    patient.write("/proc/self/mounts", MOUNTS)
    patient.write("/proc/self/cgroup", f"0::{path}\n")
    for name, text in files.items():
        patient.write(f"/sys/fs/cgroup/{name.replace('__', '/').replace('_', '.')}", text)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("0-,x", [0]), ("3-1", []), ("-1", [])],
)
def test_a_list_of_processors_is_parsed(text, numbers):
    assert parse_list(text) == numbers


@pytest.mark.parametrize(
    ("mode", "allowed", "outcome"),
    [
        ("DEDICATED", "0-3", ("ok", "4 of 8")),
        ("DEDICATED", "0-2", ("advice", "3 of 8")),
        ("SHARED", "0-1", ("ok", "2 of 8")),
        ("SHARED", "4", ("advice", "1 of 8")),
        ("INVOKER", "0-7", ("ok", "8")),
    ],
)
def test_each_thread_of_a_driver_and_an_application_want_a_processor(patient, mode, allowed, outcome):
    patient.settings["threading_mode"] = mode
    with_processors(patient, allowed)

    assert patient.health(check_processors, "processors") == outcome


def test_a_container_limits_processors_by_its_lowest_group(patient):
    with_group(
        patient,
        "/pod/app",
        cpu_max="max 100000",
        pod__cpu_max="150000 100000",
        pod__app__cpu_max="800000 100000",
    )

    found = patient.health(check_processors, CONTAINER)

    assert found == ("advice", "1.5 processors (/sys/fs/cgroup/pod/cpu.max)")


@pytest.mark.parametrize("text", ["max 100000", "damaged", "100 0", ""])
def test_a_container_without_a_limit_is_good(patient, text):
    with_group(patient, cpu_max=text)

    assert patient.health(check_processors, CONTAINER) == ("ok", "no limit (/)")


def test_a_group_outside_of_the_namespace_is_read_from_its_root(patient):
    with_group(patient, "/../../pod", pod__cpu_max="400000 100000")

    assert cgroup_limit(patient.machine, "cpu").value == (400_000, 100_000)


def with_old_group(patient, path, **files):
    patient.write(
        "/proc/self/mounts", "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n" + MOUNTS
    )
    patient.write("/proc/self/cgroup", f"4:cpu,cpuacct:{path}\n0::/\n")
    for name, text in files.items():
        patient.write(f"/sys/fs/cgroup/cpu,cpuacct/{name.replace('__', '/cpu.')}", f"{text}\n")


def test_limits_of_version_1_are_found_in_the_hierarchy_of_their_controller(patient):
    # The other controllers of this machine are in version 2, as on hosts with both.
    patient.write("/sys/fs/cgroup/cpu.max", "10000 100000")
    with_old_group(
        patient,
        "/docker/app",
        docker__cfs_quota_us=250_000,
        docker__cfs_period_us=100_000,
        **{"docker/app__cfs_quota_us": -1, "docker/app__cfs_period_us": 100_000},
    )

    found = patient.health(check_processors, CONTAINER)

    assert found == ("advice", "2.5 processors (/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us)")


def test_a_container_that_sees_its_group_of_version_1_as_the_root_finds_its_limit(patient):
    with_old_group(patient, "/docker/a1b2")
    patient.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "800000\n")
    patient.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")

    assert patient.health(check_processors, CONTAINER)[0] == "ok"
    assert cgroup_limit(patient.machine, "cpu").value == (800_000, 100_000)


@pytest.mark.parametrize(("quota", "period"), [(-1, 100_000), ("damaged", 100_000), (100, 0), (100, "")])
def test_a_group_of_version_1_without_a_quota_has_no_limit(patient, quota, period):
    with_old_group(patient, "/docker", docker__cfs_quota_us=quota, docker__cfs_period_us=period)

    assert patient.health(check_processors, CONTAINER) == ("ok", "no limit (/docker)")


def test_limits_of_a_hierarchy_that_is_not_mounted_are_unknown(patient):
    patient.write("/proc/self/mounts", MOUNTS)
    patient.write("/proc/self/cgroup", "3:cpu,cpuacct:/docker\n0::/\n")

    assert patient.health(check_processors, CONTAINER)[0] == "unknown"


def test_pinned_agents_want_isolated_processors(patient):
    patient.settings.update(sender_cpu_affinity=2, receiver_cpu_affinity=3)
    with_processors(patient, "0-7", isolated="2-3")
    assert patient.health(check_isolation, "isolated processors") == ("ok", "2-3")

    with_processors(patient, "0-7", isolated="3")
    finding = patient.findings(check_isolation)["isolated processors"]
    assert (finding.health.value, finding.wanted) == ("advice", "2, 3")
    assert "isolcpus=2,3" in finding.change


def test_further_senders_want_isolated_processors_and_more_of_them(patient):
    patient.settings.update(sender_cpu_affinity=2, sender_threads=3)
    with_processors(patient, "0-7", isolated="2")

    assert patient.findings(check_isolation)["isolated processors"].wanted == "2, 3, 4"
    assert "6 for threading_mode=DEDICATED" in patient.findings(check_processors)["processors"].wanted


def test_agents_without_affinity_want_no_isolation(patient):
    with_processors(patient, "0-7")

    assert patient.health(check_isolation, "isolated processors") == ("ok", "none")


def test_an_agent_on_a_forbidden_processor_is_reported(patient):
    patient.settings.update(conductor_cpu_affinity=5)
    with_processors(patient, "0-3", isolated="5")

    assert patient.health(check_isolation, "processors of agents") == ("advice", "5 not allowed")


def test_indexes_into_the_group_are_processors_of_it(patient):
    patient.settings.update(sender_cpu_affinity=1, receiver_cpu_affinity=9, cpuset_affinity=True)
    with_processors(patient, "4-6", isolated="5")

    assert patient.findings(check_isolation)["isolated processors"].wanted == "5"


@pytest.mark.parametrize(
    ("governors", "outcome"),
    [
        (["performance", "performance"], ("ok", "performance")),
        (["performance", "powersave"], ("advice", "performance, powersave")),
    ],
)
def test_every_processor_wants_the_governor_performance(patient, governors, outcome):
    for number, governor in enumerate(governors):
        patient.write(f"/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor", f"{governor}\n")

    assert patient.health(check_governor, "frequency governor") == outcome


def test_a_governor_that_is_unknown_is_changed_elsewhere(patient):
    finding = patient.findings(check_governor)["frequency governor"]

    assert finding.health.value == "unknown"
    assert finding.change == (
        "nothing in a virtual machine: its host decides; else choose maximum performance in the firmware"
    )


@pytest.mark.parametrize(
    ("check", "whats"),
    [
        (check_processors, {"processors", CONTAINER}),
        (check_isolation, {"isolated processors"}),
        (check_governor, {"frequency governor"}),
    ],
)
def test_processors_without_their_files_are_unknown(patient, check, whats):
    findings = patient.findings(check)

    assert set(findings) == whats
    assert {finding.health.value for finding in findings.values()} == {"unknown"}
