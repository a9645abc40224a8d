"""Every message exists once, in Parquet and in a recording, however often the copying query is killed.

Rounds: AERON_CORE_KILL_ROUNDS, default 1. Kills happen at random positions, within a batch, because one is always
running.
"""

import os

import pytest

ROUNDS = int(os.environ.get("AERON_CORE_KILL_ROUNDS", "1"))
SINKS = ("parquet", "aeron")


@pytest.mark.system
def test_every_message_exists_once_after_kills_of_spark_during_batches(
    request, start_program, copies, format_
):
    reader = ["--jvm"] if format_ == "aeron-jvm" else []
    arguments = ("following.py", *reader, "local[2]", copies.archive, copies.out, "256k")
    for number in range(ROUNDS):
        program = start_program(*arguments)
        before = copies.state()
        program.wait_until(lambda before=before: copies.are_past(before))
        program.wait_until(lambda number=number: copies.is_within_batch(SINKS[number % 2]))
        program.kill()
        copies.note_kill()
    program = start_program(*arguments)
    copies.finish(program)

    count = copies.check(request.getfixturevalue("spark"))
    print(
        f"{format_}: {ROUNDS} kills of Spark, {copies.replayed} batches replayed of {copies.state()}: {count} messages"
    )
