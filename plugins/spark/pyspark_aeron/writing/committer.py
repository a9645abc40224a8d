"""Process that commits rows for Spark's Java: `python -m pyspark_aeron.writing.committer`.

It reads requests from stdin and writes answers to stdout, each a line of JSON, until stdin ends:

    check        options, columns (type by name): folder of all writers, private_parts, payload (its column), and
                 may_repeat, whether a commit without an answer may be requested again
    commit job, abort job, commit batch, abort batch
                 options, writer, batch_id, files (path, rows, partition, sha256): an empty object

The answer to a request that fails has `error`, a text, and `is_configuration`. Requests are independent: any process of
this kind, in any order, may serve those of a query. Not here: tasks, which write their files in Java.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Mapping
from typing import Any, Final

from aeron_core.errors import AeronError, ConfigurationError
from pyspark_aeron.writing.delivering import (
    check_target,
    commit_batch,
    commit_job,
    discard_all,
    private_parts,
    staging_folder,
)
from pyspark_aeron.writing.sink_options import PAYLOAD_COLUMNS, SinkOptions, check_columns
from pyspark_aeron.writing.staged_file import StagedFile, Task, discard

Request = Mapping[str, Any]
_CHECK: Final = "check"
#: Time without a request after which publications are closed: their queries may have ended. As Spark's of its workers.
IDLE_S: Final = 60


def answer(request: Request) -> dict[str, object]:
    """Serve a request and return its answer; raises the errors of `delivering` and of `SinkOptions.parse`."""
    if request["do"] == _CHECK:
        check_columns(request["columns"])
        options = SinkOptions.parse(request["options"])
        check_target(options)
        return {
            "folder": str(staging_folder(options, "")),
            "private_parts": private_parts(options),
            # A recording has the id of its last batch; what was published would be published again.
            "may_repeat": bool(options.archive),
            "payload": next(name for name in PAYLOAD_COLUMNS if name in request["columns"]),
        }
    options = SinkOptions.parse(request["options"])
    writer, batch_id = request["writer"], request["batch_id"]
    files = [
        StagedFile(file["path"], file["rows"], Task(writer, batch_id, file["partition"]), file["sha256"])
        for file in request["files"]
    ]
    match request["do"]:
        case "commit job":
            commit_job(options, files, writer)
        case "commit batch":
            commit_batch(options, files, batch_id)
        case "abort job":
            discard_all(options, writer)
        case "abort batch":
            discard(files)
    return {}


def end_publications() -> None:
    """Close all publications and clients; the next commit of a query that goes on adds them again."""
    publishing = sys.modules.get("pyspark_aeron.writing.publishing")
    if publishing is not None:
        publishing.end_all()


def main() -> None:
    """Serve requests until stdin ends."""
    # What other code prints must not become an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Of Ctrl-C in a shell of Spark, which ends its Java or not; stdin ends with that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        # There is at most one request at a time, so that none is in the buffer.
        if not select.select([sys.stdin], [], [], IDLE_S)[0]:
            end_publications()
        line = sys.stdin.buffer.readline()
        if not line:
            break
        try:
            answered = answer(json.loads(line))
        except Exception as error:
            if not isinstance(error, (AeronError, ValueError)):
                traceback.print_exc()
            answered = {
                "error": str(error) or type(error).__name__,
                "is_configuration": isinstance(error, ConfigurationError),
            }
        answers.write(json.dumps(answered) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
