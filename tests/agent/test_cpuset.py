"""The processors of a control group, read from folders laid out like the kernel's."""

import pytest

from aeron_core.agent import cpuset, placement
from aeron_core.errors import ConfigurationError
from aeron_core.settings import DriverSettings


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Return a function that creates a control group of this process, with processors."""
    root = tmp_path / "cgroup"
    root.mkdir()
    proc = tmp_path / "self"
    monkeypatch.setattr(cpuset.read_cpus, "__defaults__", (proc, root))
    monkeypatch.setattr(cpuset.faults_of, "__defaults__", (tmp_path / "cpu",))

    def make(own, folder, cpus):
        proc.write_text(f"12:cpuset:/old\n0::{own}\n")
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "cpuset.cpus.effective").write_text(f"{cpus}\n")

    return make


def describe(tmp_path, cpu, *, siblings, die="0-7", level_3="0-7"):
    folder = tmp_path / "cpu" / f"cpu{cpu}"
    for name, text in (
        ("topology/thread_siblings_list", siblings),
        ("topology/die_cpus_list", die),
        ("cache/index3/level", "3"),
        ("cache/index3/shared_cpu_list", level_3),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", [0]), ("0-3", [0, 1, 2, 3]), ("8,2-3,2", [2, 3, 8]), ("1-2,4-5\n", [1, 2, 4, 5])]
)
def test_a_list_of_processors_is_parsed(text, cpus):
    assert cpuset.parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", "x", "1-", "1,,2", "3-0"])
def test_an_invalid_list_of_processors_is_rejected(text):
    with pytest.raises(ConfigurationError, match="must be a list such as 0-3,8"):
        cpuset.parse_cpus(text)


@pytest.mark.parametrize("folder", ["a/b", "a", "."])
def test_the_nearest_group_that_sets_processors_is_used(groups, folder):
    groups("/a/b", folder, "4-5")

    assert cpuset.read_cpus() == [4, 5]


def test_without_a_group_that_sets_processors_the_start_fails(groups, tmp_path):
    groups("/a", "other", "1")

    with pytest.raises(ConfigurationError, match="version 2 of control groups"):
        cpuset.read_cpus()


def test_without_a_version_2_group_the_start_fails(tmp_path):
    (tmp_path / "self").write_text("12:cpuset:/old\n")

    with pytest.raises(ConfigurationError, match="0::/path"):
        cpuset.read_cpus(tmp_path / "self", tmp_path)


def test_affinities_are_indexes_into_the_processors_of_the_group(groups):
    groups("/a", "a", "3,5,7")
    settings = DriverSettings(cpuset_affinity=True, conductor_cpu_affinity=0, receiver_cpu_affinity=2)

    assert placement.processors_of(settings) == (3, -1, 7)


def test_further_senders_have_the_next_indexes(groups):
    groups("/a", "a", "3,5,7")
    settings = DriverSettings(cpuset_affinity=True, sender_cpu_affinity=1, sender_threads=2)

    assert placement.processors_of(settings) == (-1, 5, -1, 7)


def test_without_the_setting_affinities_are_processors():
    assert placement.processors_of(DriverSettings(sender_cpu_affinity=2)) == (-1, 2, -1)


def test_an_affinity_beyond_the_group_is_rejected(groups):
    groups("/a", "a", "3,5")

    with pytest.raises(ConfigurationError, match=r"sender_cpu_affinity=2: must be from 0 to 1"):
        placement.processors_of(DriverSettings(cpuset_affinity=True, sender_cpu_affinity=2))


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"siblings": "0,4"}, "has processor 0 but not 4"),
        ({"siblings": "0", "die": "0"}, "several dies"),
        ({"siblings": "0", "level_3": "0"}, "several level 3 caches"),
    ],
)
@pytest.mark.parametrize("is_strict", [False, True])
def test_a_poor_choice_causes_a_warning_or_stops_the_start(groups, tmp_path, fields, fault, is_strict):
    groups("/a", "a", "0-1")
    describe(tmp_path, 0, **fields)
    describe(tmp_path, 1, siblings="1")
    settings = DriverSettings(cpuset_affinity=True, cpuset_warnings_as_errors=is_strict)

    if is_strict:
        with pytest.raises(ConfigurationError, match=fault):
            placement.processors_of(settings)
    else:
        with pytest.warns(UserWarning, match=fault):
            placement.processors_of(settings)


def test_a_complete_core_causes_no_warning(groups, tmp_path):
    for cpu in (0, 1):
        describe(tmp_path, cpu, siblings="0-1")

    assert cpuset.faults_of([0, 1], tmp_path / "cpu") == []


def test_a_process_without_a_control_group_file_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot read the control group"):
        cpuset.read_cpus(tmp_path / "absent", tmp_path)


def test_no_processors_are_no_poor_choice(tmp_path):
    assert cpuset.faults_of([], tmp_path) == []


def test_a_cache_without_a_level_is_skipped(tmp_path):
    describe(tmp_path, 0, siblings="0")
    (tmp_path / "cpu/cpu0/cache/index9").mkdir(parents=True)

    assert cpuset.faults_of([0], tmp_path / "cpu") == []
