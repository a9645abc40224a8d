"""All files, folders and sockets that programs create, compared with the table in docs/explanation/security.md."""

from __future__ import annotations

import fnmatch
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from aeron_security.identity_files import AllowedPeer, write_peers
from aeron_security.key_files import write_secret
from pyspark_aeron.java import make_java_home
from pyspark_aeron.writing import delivering, staged_file
from pyspark_aeron.writing.sink_options import SinkOptions

from aeron_core import MediaDriver, connect
from aeron_core.archive.server.archive_server import ArchiveServer
from aeron_core.archive.server.conversion import convert
from aeron_core.archive.server.params import ArchiveServerParams
from aeron_core.recording import Archive
from aeron_core.recording.retention.leases import write_lease
from aeron_core.shipping.confirmed_position import confirmed_position
from aeron_core.shipping.shipper import Shipper
from aeron_core.shipping.shipper_params import ShipperParams

pytestmark = pytest.mark.system

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "security.md"
SHARED_MEMORY = Path("/dev/shm")
SETTINGS = {
    "counters_buffer_length": "1m",
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "perform_storage_checks": False,
    "event_log": "all",
    "threading_mode": "SHARED",
    "shared_idle_strategy": "signal",
}
DEADLINE_S = 30


def until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    return found


def table():
    """Return the mode by pattern of a path, of the rows with one mode."""
    section = PAGE.read_text(encoding="utf-8").partition("\n### Files\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    found = {}
    for _, paths, mode, *_ in rows[1:]:
        if re.fullmatch(r"0[0-7]{3}", mode):
            named = re.findall(r"`([^`]+)`", paths) or [paths]
            found |= {pattern.replace("<id>", "[0-9]*"): int(mode, 8) for pattern in named}
    return found


def matches(name, row):
    parts, patterns = name.split("/"), row.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def names_of(root):
    """Return what was created, by the names of the table."""
    yield "DIR", root / "driver"
    yield "LOG", root / "events.log"
    yield "path=", root / "socket"
    yield "ARCHIVE", root / "archive"
    yield "ARCHIVE", root / "spool"
    yield "FOLDER", root / "aeron-archive"
    yield "STATE", root / "state"
    yield "the key file", root / "key"
    yield "the list of peers", root / "peers"
    yield "CACHE", root / "cache" / "aeron-core"
    yield "STAGING", root / "staged"
    yield "STAGING", root / "sunk" / "staging"
    yield "STAGING", temporary(root) / "staging"


def temporary(root):
    """Return the folder of the Spark sink in that of temporary files."""
    return root / "tmp" / f"aeron-core-{os.getuid()}"


def created_in(root, shared):
    for name, base in names_of(root):
        for path in (base, *base.parent.glob(f"{base.name}[-.]*"), *base.rglob("*")):
            if not path.is_symlink():
                yield name + str(path).removeprefix(str(base)), path
    yield "TMPDIR/aeron-core-UID", temporary(root)
    for path in shared:
        yield str(path), path


@pytest.fixture
def umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def root(umask):
    # Not the temporary folder of the test: a path of a socket is short.
    folder = SHARED_MEMORY / f"aeron-test-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


def ship(aeron, root):
    (root / "lines").write_text("a line\n", encoding="utf-8")
    publication = aeron.add_exclusive_publication("aeron:ipc", 1002)
    publication.await_connected(timeout=DEADLINE_S)
    params = ShipperParams(patterns=[str(root / "lines")], state_folder=root / "state", follows=False)
    shipper = Shipper(publication, confirmed_position(aeron, publication), params)

    def ships():
        shipper.do_work(time.monotonic_ns())
        return shipper.is_done

    until(ships)
    shipper.close()


def serve_converted(aeron, root):
    """Convert the recordings to an Aeron Archive, and serve it."""
    list(convert(Archive.open(root / "archive"), root / "aeron-archive", lambda _: None))
    ArchiveServer(aeron, root / "aeron-archive", ArchiveServerParams(low_space=0)).close()


def is_of_this_process(name):
    """Return whether a file in shared memory may be of this process: others use drivers meanwhile."""
    # The name of a semaphore has a hash of the driver's directory instead of the process.
    return f"-{os.getpid()}-" in name or name.startswith("sem.aeron-core-")


def run(root, storage):
    """Run a driver with all that creates files; return what it has in shared memory, and the files with their modes."""
    before = set(SHARED_MEMORY.iterdir())
    recording = {
        "streams": ["aeron:ipc 1001 1002"],
        "to": str(root / "archive"),
        "spool": str(root / "spool"),
        "segment_length": "64k",
    }
    settings = {
        **SETTINGS,
        "aeron_dir": root / "driver",
        "storage": storage,
        "event_log_filename": root / "events.log",
        "event_log_file_max_length": 2000,
    }
    launched = MediaDriver.launch(settings, sections={"recording": recording})
    with launched as driver, connect(driver.aeron_dir) as aeron:
        publication = aeron.add_exclusive_publication("aeron:ipc", 1001)
        publication.await_connected(timeout=DEADLINE_S)
        aeron.add_subscription(f"aeron:sp?mode=listen|transport=ipc|path={root / 'socket'}", 1003)
        listening = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 1004)
        sending = aeron.add_publication(f"aeron:udp?endpoint={until(listening.local_addresses)[0]}", 1004)
        sending.await_connected(timeout=DEADLINE_S)
        while publication.position < 5 * 64 * 1024:
            publication.offer(bytes(1000))
        ship(aeron, root)
        write_lease(Archive.open(root / "archive").store, "reader", {0: 0}, time.time_ns())
        until(lambda: any((root / "archive").glob("*/*.rec")))
        if storage == "file":
            serve_converted(aeron, root)
        driver.record_error(ValueError("to be saved by the next driver"))
        shared = [path for path in set(SHARED_MEMORY.iterdir()) - before if is_of_this_process(path.name)]
        return [(name, path.lstat().st_mode) for name, path in created_in(root, shared) if path.exists()]


def write_lists(root):
    write_secret(root / "key")
    write_peers(root / "peers", [AllowedPeer("one", bytes(range(32)), None)])


def stage(root, monkeypatch):
    """Write rows as tasks of the Spark sink do, for each place of them, and create the wrapper of a Java."""
    monkeypatch.setattr(tempfile, "tempdir", str(root / "tmp"))
    chosen = {"staging": str(root / "staged"), "archive": str(root / "sunk")}
    for options in (chosen, {"archive": str(root / "sunk")}, {"channel": "aeron:ipc", "stream_id": "1001"}):
        parsed = SinkOptions.model_validate(options)
        path = delivering.staging_folder(parsed, "query") / f"0-0-name{delivering.SUFFIX}"
        writer = staged_file.StagedFileWriter(path, delivering.private_parts(parsed))
        writer.write(b"row", np.array([0, 3]), None)
        writer.close()
    java = root / "real" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    make_java_home(root / "real", root / "cache" / "aeron-core")


def test_every_file_has_the_mode_of_the_table(root, monkeypatch):
    write_lists(root)
    stage(root, monkeypatch)

    found = [*run(root, "file"), *run(root, "posix")]
    # The archive and the spool without a driver, and the errors of the first one.
    found += [(name, path.lstat().st_mode) for name, path in created_in(root, ()) if path.exists()]

    rows = table()
    assert len(rows) > 20
    assert {row for row in rows if not any(matches(name, row) for name, _ in found)} == set()
    for name, mode in found:
        assert [stat.S_IMODE(mode)] == [rows[row] for row in rows if matches(name, row)], name
