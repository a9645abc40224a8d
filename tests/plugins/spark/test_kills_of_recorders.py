"""Every accepted event exists once, however often the recorder or the media driver is killed.

Events in a recording count as accepted. The publisher resumes after its earlier recordings, once they have ended.
Rounds of both: AERON_CORE_KILL_ROUNDS, default 1.
"""

import os

import pytest
from checkpoints import batch_counts
from recorded_publisher import Publisher

from aeron_core.recording import Archive

ROUNDS = int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1"))
SINKS = ("parquet", "aeron")


def batches(out):
    return [batch_counts(out / "checkpoints" / sink)[1] for sink in SINKS]


@pytest.mark.system
def test_every_accepted_event_exists_once_after_kills_of_recorder_and_media_driver(
    request, start_program, commands, channel, tmp_path
):
    archive, out = Archive.create(tmp_path / "archive"), tmp_path / "out"
    out.mkdir()
    commands.start_driver()
    commands.start_recorder()
    publisher = Publisher(tmp_path / "driver", channel, archive)
    publisher.start()
    program = start_program("following.py", "local[2]", tmp_path / "archive", out, "8m")

    for name in ("recorder", "driver") * ROUNDS:
        before, sessions = batches(out), publisher.sessions
        program.wait_until(
            lambda before=before: all(now > then for now, then in zip(batches(out), before, strict=True))
        )
        commands.kill(name)
        getattr(commands, f"start_{name}")()
        if name == "driver":
            program.wait_until(lambda sessions=sessions: publisher.sessions > sessions)
    accepted = publisher.end()
    (out / "stop").touch()
    program.finish()

    spark = request.getfixturevalue("spark")
    for sink in SINKS:
        copied = spark.read.format(sink).load(str(out / sink))
        numbers = copied.selectExpr("CAST(CAST(substring(payload, 1, 20) AS STRING) AS BIGINT) AS number")
        found = numbers.selectExpr("count(*)", "count(DISTINCT number)", "min(number)", "max(number)").first()
        assert tuple(found) == (accepted, accepted, 0, accepted - 1)
    print(
        f"{ROUNDS} kills of recorder and media driver each, {len(archive.recordings())} recordings, {batches(out)} "
        f"batches: {accepted} events"
    )
