"""Leases of readers."""

import pytest

from aeron_core.errors import ConfigurationError, CorruptRecordingError
from aeron_core.recording.retention.leases import (
    DEFAULT_LEASE_TIMEOUT_NS,
    needed_from,
    read_lease,
    read_leases,
    write_lease,
)
from aeron_core.testing.recordings import NOW_NS


def test_a_lease_reads_back_as_it_was_written(written):
    lease = write_lease(written.store, "spark", {0: 4096, 7: 32}, NOW_NS)

    assert read_lease(written.store, "spark") == lease
    assert read_leases(written.store) == [lease]
    assert (written.store.folder / "consumers" / "spark.json").read_text() == (
        '{"version":1,"name":"spark","positions":{"0":4096,"7":32},"updated_ns":1700000000000000000}\n'
    )


def test_a_reader_without_a_lease_has_none(written):
    assert (read_lease(written.store, "spark"), read_leases(written.store)) == (None, [])


def test_the_slowest_reader_determines_the_needed_position(written):
    leases = [
        write_lease(written.store, name, {0: position}, NOW_NS)
        for name, position in (("fast", 8192), ("slow", 64))
    ]

    assert needed_from(leases, 0, NOW_NS) == (64, "slow")
    assert needed_from(leases, 1, NOW_NS) is None


def test_an_expired_lease_is_ignored(written):
    leases = [write_lease(written.store, "gone", {0: 64}, NOW_NS)]

    assert needed_from(leases, 0, NOW_NS + DEFAULT_LEASE_TIMEOUT_NS - 1) == (64, "gone")
    assert needed_from(leases, 0, NOW_NS + DEFAULT_LEASE_TIMEOUT_NS) is None


@pytest.mark.parametrize("name", ["", "../escape", "a/b", ".hidden", "x" * 129, "a b"])
def test_an_invalid_consumer_name_raises(written, name):
    with pytest.raises(ConfigurationError, match="consumer name"):
        write_lease(written.store, name, {}, NOW_NS)


def test_files_beside_the_leases_are_ignored(written):
    lease = write_lease(written.store, "spark", {0: 1}, NOW_NS)
    for name in (".spark.json", "spark (copy).json", "notes.txt"):
        (written.store.folder / "consumers" / name).write_text("{")

    assert read_leases(written.store) == [lease]


def test_a_corrupt_lease_raises_with_its_file(written):
    write_lease(written.store, "spark", {0: 1}, NOW_NS)
    (written.store.folder / "consumers" / "spark.json").write_text("{")

    with pytest.raises(
        CorruptRecordingError,
        match=r"consumers/spark\.json: lease: Invalid JSON.*repair the file, or delete it",
    ):
        read_leases(written.store)
