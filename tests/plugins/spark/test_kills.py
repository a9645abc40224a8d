"""Every message once, however often what copies them is killed.

Rounds: AERON_CORE_KILL_ROUNDS, 1 where unset. The positions at which it is killed are those that chance brings: in
the middle of a batch, for there is always one.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aeron_core.testing.recordings import RecordingUnderTest

PROGRAM = Path(__file__).parent / "programs" / "copying.py"
ROUNDS = int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1"))
TERMS = 12 + 6 * ROUNDS
TIMEOUT_S = 240


class Copy:
    """A process group with a query in it: Python, a Java machine, and Python workers."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *map(str, arguments)],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=TIMEOUT_S)

    def finish(self):
        output, _ = self.process.communicate(timeout=TIMEOUT_S)
        assert self.process.returncode == 0, output

    def wait_until(self, condition):
        deadline_s = time.monotonic() + TIMEOUT_S
        while not condition():
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline_s
            time.sleep(0.002)


def begun_and_done(checkpoint):
    """Return how many batches Spark has planned, and how many it has committed."""
    return tuple(
        sum(path.name.isdigit() for path in (checkpoint / name).glob("*")) for name in ("offsets", "commits")
    )


@pytest.mark.system
@pytest.mark.parametrize("sink", ["parquet", "aeron"])
def test_every_message_is_there_once_after_kills_in_the_middle_of_batches(spark, tmp_path, sink):
    source = RecordingUnderTest.begin(tmp_path / "archive")
    for _ in range(TERMS):
        source.fill_term(100)
    archive, out, checkpoint = source.store.folder, tmp_path / "out", tmp_path / "checkpoint"

    for _ in range(ROUNDS):
        copy = Copy(archive, out, checkpoint, sink)
        _, done = begun_and_done(checkpoint)
        # Further than it was, and with a batch begun that is not done.
        copy.wait_until(lambda done=done: (now := begun_and_done(checkpoint))[1] > done and now[0] > now[1])
        copy.kill()
    Copy(archive, out, checkpoint, sink).finish()

    expected = spark.read.format("aeron").load(str(archive)).select("payload")
    copied = spark.read.format(sink).load(str(out)).select("payload")
    assert copied.count() == copied.distinct().count() == expected.count() == TERMS * 409
    assert copied.exceptAll(expected).isEmpty()
