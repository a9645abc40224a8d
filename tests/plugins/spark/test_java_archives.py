"""Spark over the recordings that a real Aeron Archive has written: what a Java client has received, and damage.

AERON_ARCHIVE_MESSAGES sets the number of messages of all recordings.
"""

import hashlib

import java_peer
import pyarrow as pa
import pytest
from archive_frames import flip_bit
from archive_scenario import SEGMENT_LENGTH, ArchivePeer
from archive_volume import COUNT, LIVE, RECORDINGS, eight_recordings

pytestmark = [pytest.mark.interop, pytest.mark.system]
DIGESTS = "recording_id long, count long, first long, last long, digest string"


@pytest.fixture(scope="module")
def java():
    if missing := java_peer.missing_programs():
        pytest.skip(f"needs {', '.join(missing)}")
    peer = java_peer.JavaPeer()
    yield peer
    peer.stop()


def digests_of_recordings():
    """Return a function for `mapInArrow`, which is not pickled by the name of this module."""

    def digests(batches):
        found = {}
        for batch in batches:
            for recording_id, position, payload in zip(*map(to_python, batch.columns), strict=True):
                count, first, last, digest = found.get(
                    recording_id, (0, position, position, hashlib.sha256())
                )
                assert last <= position, f"recording {recording_id}: {position} after {last}"
                digest.update(len(payload).to_bytes(4, "little") + payload)
                found[recording_id] = count + 1, first, position, digest
        rows = [
            {"recording_id": key, "count": count, "first": first, "last": last, "digest": digest.hexdigest()}
            for key, (count, first, last, digest) in found.items()
        ]
        if rows:
            yield pa.RecordBatch.from_pylist(rows)

    def to_python(column):
        return column.to_pylist()

    return digests


@pytest.mark.parametrize("kind", ["folder", "running archive"])
def test_spark_has_of_each_of_eight_recordings_what_its_subscriber_received(spark, java, tmp_path, kind):
    with eight_recordings(java, tmp_path) as (folder, expected):
        address = f"aeron:archive?control-request=aeron:ipc|dir={tmp_path / 'aeron'}"
        rows = spark.read.format("aeron").load(str(folder) if kind == "folder" else address)
        ordered = (
            rows.select("recording_id", "position", "payload")
            .repartition(RECORDINGS, "recording_id")
            .sortWithinPartitions("recording_id", "position")
        )
        found = {
            row.recording_id: row for row in ordered.mapInArrow(digests_of_recordings(), DIGESTS).collect()
        }
        total = rows.count()

    assert (total, len(found)) == (RECORDINGS * COUNT, RECORDINGS)
    assert sum(facts.is_live for facts in expected.values()) == LIVE
    for recording_id, facts in expected.items():
        row = found[recording_id]
        assert (row["count"], row.digest) == (COUNT, facts.digest)
        # Positions are those after a message: the first one is empty but for a header.
        assert facts.start_position < row.first <= row.last == facts.max_position
    print(
        f"{kind}: {total} messages in {RECORDINGS} recordings, {LIVE} of them live: digests and positions equal"
    )


@pytest.mark.parametrize("algorithm", ["Crc32", "Crc32c"])
def test_spark_finds_a_flipped_bit_in_a_recording_with_checksums(spark, java, tmp_path, algorithm):
    from pyspark.errors import PySparkException  # noqa: PLC0415 - slow to import

    peer = ArchivePeer(java, tmp_path, f"checksum=io.aeron.archive.checksum.{algorithm}")
    try:
        made = peer.record(100, 1000)
        peer.stop(made)
        peer.record(101, 300)
        reader = spark.read.format("aeron").option("checksum", algorithm.lower())
        assert reader.load(str(peer.folder)).count() == 1300

        at = flip_bit(peer.folder, f"{made.recording_id}-{SEGMENT_LENGTH}.rec", 50)

        fault = f"recording {made.recording_id} position {SEGMENT_LENGTH + at}: checksum=0x"
        with pytest.raises(PySparkException, match=fault):
            reader.load(str(peer.folder)).count()
        assert reader.option("verify", "false").load(str(peer.folder)).count() == 1300
    finally:
        peer.close()
