import re

import pytest

from aeron_core.cli.doctor.memory import check_container_memory, check_limits, check_shared_memory

MIB = 1024 * 1024
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max open files            {files}                 524288               files
Max locked memory         {locked}              8388608              bytes
"""


@pytest.mark.parametrize(
    ("mounts", "outcome"),
    [
        ("tmpfs /dev/shm tmpfs rw,size=64m 0 0", ("ok", "tmpfs, rw,size=64m")),
        ("/dev/vda / ext4 rw 0 0", ("advice", "ext4, rw")),
        ("/dev/vda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs ro 0 0", ("problem", "tmpfs, ro")),
        ("tmpfs /dev/shm tmpfs ro 0 0\ntmpfs /dev/shm tmpfs rw 0 0", ("ok", "tmpfs, rw")),
        ("short line", ("unknown", "no entry in /proc/self/mounts")),
    ],
)
def test_the_directory_wants_a_writable_filesystem_in_memory(patient, mounts, outcome):
    patient.write("/proc/self/mounts", f"{mounts}\n")

    assert patient.health(check_shared_memory, "filesystem of /dev/shm") == outcome


def test_a_mount_point_with_a_space_is_found(patient):
    (patient.root / "my data").mkdir()
    patient.settings["aeron_dir"] = "/my data/driver"
    patient.write("/proc/self/mounts", "none / ext4 rw 0 0\nnone /my\\040data tmpfs rw 0 0\n")

    assert patient.health(check_shared_memory, "filesystem of /my data") == ("ok", "tmpfs, rw")


@pytest.mark.parametrize(("free", "health"), [(1024, "ok"), (64, "advice"), (32, "problem")])
def test_a_driver_and_its_logs_must_fit(patient, free, health):
    patient.machine.free, patient.machine.total = free * MIB, 2 * free * MIB

    finding = patient.findings(check_shared_memory)["space in /dev/shm"]

    needed = int(re.match(r"\d+", finding.wanted)[0])
    assert finding.health.value == health
    assert 432 <= needed <= 434
    assert finding.found == f"{free:,} MiB free of {2 * free:,}"
    sizes = re.findall(r"size=(\d+)m", finding.change)
    assert len(sizes) == 2
    assert all(abs(int(size) - 2 * free - needed) <= 1 for size in sizes)


def test_short_terms_need_less_space(patient):
    patient.settings.update(term_buffer_length="64k", ipc_term_buffer_length="64k")
    patient.machine.free = 64 * MIB

    assert patient.health(check_shared_memory, "space in /dev/shm")[0] == "ok"


def test_a_filesystem_of_unknown_size_is_unknown(patient):
    patient.machine.free = None

    assert patient.health(check_shared_memory, "space in /dev/shm")[0] == "unknown"


@pytest.mark.parametrize(
    ("files", "outcome"),
    [
        ("unlimited", ("ok", "unlimited")),
        ("65536", ("ok", "65536")),
        ("1024", ("advice", "1024")),
        ("32", ("problem", "32")),
    ],
)
def test_a_driver_wants_descriptors(patient, files, outcome):
    patient.write("/proc/self/limits", LIMITS.format(files=files, locked="8388608"))

    assert patient.health(check_limits, "open files") == outcome


@pytest.mark.parametrize(
    ("locked", "found"), [("unlimited", "unlimited"), ("8388608", "8m"), ("65536", "64k")]
)
def test_locked_memory_needs_no_change(patient, locked, found):
    patient.write("/proc/self/limits", LIMITS.format(files="65536", locked=locked))

    assert patient.health(check_limits, "locked memory") == ("ok", found)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("max", ("ok", "no limit (/)")),
        (f"{2048 * MIB}", ("ok", "2,048 MiB (/sys/fs/cgroup/memory.max)")),
        (f"{256 * MIB}", ("advice", "256 MiB (/sys/fs/cgroup/memory.max)")),
    ],
)
def test_a_container_wants_memory_for_log_buffers(patient, text, outcome):
    patient.write("/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    patient.write("/proc/self/cgroup", "0::/\n")
    patient.write("/sys/fs/cgroup/memory.max", f"{text}\n")

    assert patient.health(check_container_memory, "memory of the container") == outcome


@pytest.mark.parametrize(
    ("length", "outcome"),
    [
        (9223372036854771712, ("ok", "no limit (/docker)")),
        (256 * MIB, ("advice", "256 MiB (/sys/fs/cgroup/memory/docker/memory.limit_in_bytes)")),
    ],
)
def test_a_limit_of_memory_is_read_from_version_1_of_control_groups(patient, length, outcome):
    patient.write("/proc/self/mounts", "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n")
    patient.write("/proc/self/cgroup", "9:memory:/docker\n")
    patient.write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", f"{length}\n")

    assert patient.health(check_container_memory, "memory of the container") == outcome


def test_limits_without_their_files_are_unknown(patient):
    for check in (check_limits, check_container_memory):
        assert {finding.health.value for finding in patient.findings(check).values()} == {"unknown"}
