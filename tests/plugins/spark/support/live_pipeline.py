"""A pipeline that reads a live channel into Parquet, and its output."""

from __future__ import annotations

import contextlib
import time

from pyarrow import ArrowInvalid, parquet

TIMEOUT_S = 240
TEXT = """
name = "live"
master = "local[2]"
checkpoint = "{folder}/checkpoint"
trigger = "1 second"
settings = {{ "spark.log.level" = "ERROR", "spark.sql.shuffle.partitions" = 1 }}

[sources.live]
archive = "{folder}/spool"
{more}
options = {{ live = true, channel = "{channel}", streamId = 7, aeronDir = "{aeron_dir}" }}

[[steps]]
name = "texts"
sql = "{sql}"

[[sinks]]
from = "texts"
format = "parquet"
path = "{folder}/texts"
"""


class LivePipeline:
    """A pipeline file in `folder`; `sql` computes the column `text` from the source `live`."""

    def __init__(self, folder, channel, aeron_dir, sql, more=""):
        self.path = folder / "pipeline.toml"
        self.path.write_text(
            TEXT.format(folder=folder, channel=channel, aeron_dir=aeron_dir, sql=sql, more=more)
        )
        self._folder = folder

    def texts(self):
        """Return the rows written so far."""
        found = []
        for file in (self._folder / "texts").glob("*.parquet"):
            # A file that is still being written has no footer yet.
            with contextlib.suppress(ArrowInvalid):
                found += parquet.read_table(file).column("text").to_pylist()
        return found

    def await_texts(self, expected):
        """Wait until each of `expected` is written exactly once."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while (found := sorted(self.texts())) != sorted(expected):
            assert time.monotonic() < deadline_s, f"{len(found)} texts, the last {found[-1:]}"
            time.sleep(0.01)
