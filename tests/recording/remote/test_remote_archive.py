"""Archives on an S3 server."""

import subprocess
import sys
import time
import urllib.request
import zlib

import pytest

from aeron_core.errors import ConfigurationError, RecordingNotFoundError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.remote.uploader import Uploader
from aeron_core.recording.retention.leases import read_lease, write_lease
from aeron_core.recording.retention.purge import purge_before, purge_recording
from aeron_core.recording.retention.retention import RetentionPolicy
from aeron_core.recording.target import recording_target
from aeron_core.recording.writing.recorder import RecorderParams
from aeron_core.testing.recordings import TERM_LENGTH, RecordingUnderTest

pytestmark = pytest.mark.system

SEGMENT = 2 * TERM_LENGTH
DEADLINE_S = 60


@pytest.fixture(scope="module")
def s3():
    """Return the address of a server with storage in memory."""
    pytest.importorskip("pyarrow.fs")
    pytest.importorskip("moto.server")
    program = (
        "from moto.server import ThreadedMotoServer\n"
        "server = ThreadedMotoServer('127.0.0.1', 0, verbose=False)\n"
        "server.start()\n"
        "print(server.get_host_and_port()[1], flush=True)\n"
        "input()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    yield f"127.0.0.1:{int(process.stdout.readline())}"
    process.communicate("\n", timeout=DEADLINE_S)


@pytest.fixture
def uri(s3, request, monkeypatch):
    """A new bucket."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bucket = f"bucket-{zlib.crc32(request.node.name.encode())}"
    urllib.request.urlopen(urllib.request.Request(f"http://{s3}/{bucket}", method="PUT"))
    return f"s3://{bucket}/recordings?endpoint_override={s3}&scheme=http&region=us-east-1"


def uploaded(written, uri):
    """Upload everything and return the remote archive."""
    remote = Archive.create(uri, written.archive.uuid)
    errors = []
    uploader = Uploader(written.archive, remote, errors.append)
    while uploader.do_work(written.now_ns):
        pass
    assert errors == []
    return Archive.open(uri)


def test_a_recording_in_a_bucket_reads_like_a_local_one(written, uri):
    for _ in range(5):
        written.fill_term()
    whole = written.data()
    written.stop()

    recording = uploaded(written, uri).recording(0)

    assert b"".join(data for _, data in recording.read(0, recording.position)) == whole
    assert verify(Archive.open(uri).store, recording, written.now_ns, lambda length: None).faults == []
    assert sum(1 for _ in messages(recording, 0, recording.position)) == 5 * 62
    assert recording.position_at(written.now_ns + 1) == 5 * TERM_LENGTH


def test_readers_follow_a_growing_remote_recording(written, uri):
    written.fill_term()
    written.fill_term()
    written.append(b"a")
    recording = uploaded(written, uri).recording(0)
    assert recording.position == SEGMENT

    written.fill_term()
    written.fill_term()
    written.append(b"a")
    uploaded(written, uri)

    assert recording.position == 2 * SEGMENT


def test_a_remote_recording_is_purged_like_a_local_one(written, uri):
    for _ in range(5):
        written.fill_term()
    written.stop()
    archive = uploaded(written, uri)

    assert purge_before(archive.store, 0, SEGMENT) == SEGMENT
    assert archive.recording(0).segments() == [SEGMENT, 2 * SEGMENT]
    purge_recording(archive.store, 0, written.now_ns)
    with pytest.raises(RecordingNotFoundError):
        archive.recording(0)
    assert archive.recordings() == []


def test_leases_work_in_a_remote_archive(uri):
    archive = Archive.create(uri)

    lease = write_lease(archive.store, "spark", {0: 64}, 7)

    assert read_lease(archive.store, "spark") == lease


def test_opening_a_bucket_without_an_archive_raises(uri):
    with pytest.raises(RecordingNotFoundError, match="there is no archive of recordings"):
        Archive.open(uri)


def test_a_remote_archive_needs_a_spool(uri):
    params = RecorderParams(on_error=print)

    with (
        pytest.raises(ConfigurationError, match="needs a spool"),
        recording_target(uri, None, RetentionPolicy(), params),
    ):
        pass


def test_everything_recorded_through_a_spool_is_uploaded_at_the_end(uri, tmp_path):
    errors = []
    params = RecorderParams(on_error=errors.append)
    with recording_target(uri, str(tmp_path / "spool"), RetentionPolicy(), params) as target:
        written = RecordingUnderTest.begin(tmp_path / "spool")
        written.append(b"a")
        whole = written.data()
        written.stop()
        target.params.on_segment_finished(0)

    assert errors == []
    recording = Archive.open(uri).recording(0)
    assert b"".join(data for _, data in recording.read(0, recording.position)) == whole


def test_an_unreachable_server_leaves_all_data_in_the_spool(uri, tmp_path, monkeypatch):
    errors = []
    params = RecorderParams(on_error=errors.append, clock=time.time_ns)
    with recording_target(uri, str(tmp_path / "spool"), RetentionPolicy(), params):
        written = RecordingUnderTest.begin(tmp_path / "spool")
        written.append(b"a")
        whole = written.data()

        def fail(*_):
            raise OSError("connection refused")

        monkeypatch.setattr("aeron_core.recording.storage.arrow_store.ArrowStore.upload", fail)
        written.stop()

    assert [str(error).partition(":")[0] for error in errors][-1] == str(tmp_path / "spool")
    assert written.data() == whole
