"""The reader for Spark's Java: what it refuses, and what it reports of damaged archives."""

import os

import pytest
from both_readers import assert_same
from pyspark.errors import PySparkException

from aeron_core.recording.retention.purge import purge_before
from aeron_core.testing.recordings import TERM_LENGTH, RecordingUnderTest


def test_purged_positions_are_an_error_unless_they_are_given_up(java, tmp_path):
    written = RecordingUnderTest.begin(tmp_path / "archive", segment_length=TERM_LENGTH)
    for _ in range(3):
        written.fill_term(1000)
    written.stop()
    purge_before(written.store, 0, 2 * TERM_LENGTH)

    assert len(assert_same(java, tmp_path / "archive")) == 62
    with pytest.raises(PySparkException, match="recording 0 position 0: must be from 131072 to 196608"):
        java(tmp_path / "archive", startingPosition='{"0": 0}')


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_damaged_data_fails_the_query_unless_verify_is_off(java, written):
    for payload in (b"a", b"b", b"c"):
        written.append(payload)
    flip(written.folder / "0-0.rec", 64 + 32)

    with pytest.raises(Exception, match="recording 0 position 64: the frames up to 128 do not have"):
        java(written.store.folder)
    assert len(assert_same(java, written.store.folder, verify="false")) == 3
    assert len(assert_same(java, written.store.folder, startingPosition='{"0": 128}')) == 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: os.truncate(folder / "0-0.rec", 70), "ends at position 70: must extend to 192"),
        (lambda folder: (folder / "0-0.rec").unlink(), "0-0.rec: is missing"),
        (lambda folder: flip(folder / "0-0.rec", 64 + 16), "recording 0 position 64: stream id=23: must be"),
        (lambda folder: os.truncate(folder / "0-0.idx", 0), "0-0.idx: is missing or damaged: it must cover"),
        (lambda folder: (folder / "recording.json").write_text("[]"), "must be a JSON object; restore"),
        (
            lambda folder: (folder / "recording.json").open("a").write("x"),
            "recording.json: .*; restore a copy",
        ),
        (lambda folder: (folder / "mark").write_bytes(b"x" * 4096), "must be at least 4096 bytes that begin"),
    ],
    ids=["short", "missing", "frame", "index", "descriptor", "trailing", "mark"],
)
def test_damaged_files_are_an_error_with_a_remedy(java, written, damage, message):
    written.append(b"a", b"b", b"c")
    if message.startswith("0-0.idx"):
        written.stop()
    damage(written.folder)

    with pytest.raises(Exception, match=message):
        java(written.store.folder)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("s3://bucket/archive", "reads local folders only: use format"),
        ("aeron:archive?control-request=aeron:ipc", "cannot reach a running Aeron Archive: use format"),
        ("foreign", "is a folder of Aeron Archive, which the JVM reader cannot read: use format"),
        ("empty", "there is no archive of recordings; `aeron-core record` creates one"),
    ],
)
def test_archives_elsewhere_are_refused_with_the_remedy(java, tmp_path, monkeypatch, place, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/archive.catalog").touch()

    with pytest.raises(PySparkException, match=message):
        java(place if ":" in place else tmp_path / place)


def test_live_streams_are_refused_with_the_remedy(java, written):
    with pytest.raises(
        PySparkException, match="option live: the JVM reader records no live stream: use format"
    ):
        java(written.store.folder, live="true")


def test_all_wrong_options_are_in_one_line(java, written):
    with pytest.raises(PySparkException) as caught:
        java(
            written.store.folder, batchRows="0", partitionLength="1t", startingPosition="soon", verify="maybe"
        )

    text = str(caught.value)
    assert "\n" not in text
    for part in (
        "option batchRows=0: must be an integer from 1 to 1048576",
        "option partitionLength=1t: must be a number of bytes greater than 0",
        "option startingPosition=soon: must be earliest, latest, a time",
        "option verify=maybe: must be true or false",
    ):
        assert part in text


def test_checksums_of_an_aeron_archive_are_refused_with_the_remedy(java, written):
    with pytest.raises(
        PySparkException, match="option checksum: the JVM reader reads no Aeron Archives: use f"
    ):
        java(written.store.folder, checksum="crc32")
