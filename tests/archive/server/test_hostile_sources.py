"""Replications from an archive that describes its recording falsely."""

from __future__ import annotations

from dataclasses import replace

import pytest
from served_archives import ALL, IPC, await_true, connect, expected, messages_of, record

from aeron_core.archive import RecordingSignal

#: What the source says of a recording from position 0, whose stop position is below 65536.
LIES = {
    "another initial term id": {"initial_term_id": 5},
    "another stream": {"stream_id": 777},
    "a start behind its frames": {"start_position": 1_000_000, "stop_position": 2_000_000},
    "a start near the greatest position": {"start_position": 2**62, "stop_position": 2**62 + 64},
    "no stop": {"stop_position": -1},
    "a negative stop": {"stop_position": -5},
    "a stop behind its frames": {"stop_position": 2**63 - 1},
    "terms of 0 bytes": {"term_length": 0},
    "terms and segments of 1 GiB": {"term_length": 2**30, "segment_length": 2**30},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_source_that_lies_does_no_harm_to_the_archive_that_copies(serve, aeron, free_port, lie):
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    source = serve("source", control_channel=control)
    serve("target", local_control_stream_id=11, replication_timeout=4.0)
    recording_id = record(connect(aeron), 200)
    entries = source.server._archive.catalog.entries
    truth = entries[recording_id]
    signals = []
    archive = connect(aeron, control_request_stream_id=11, on_recording_signal=signals.append)

    def replicate():
        signals.clear()
        archive.replicate(recording_id, control)

        def has_ended() -> bool:
            archive.poll_for_recording_signals()
            return any(event.signal is RecordingSignal.REPLICATE_END for event in signals)

        await_true(has_ended, "the end of the replication")

    entries[recording_id] = replace(truth, **LIES[lie])
    replicate()
    entries[recording_id] = truth
    replicate()

    copies = connect(aeron, control_request_stream_id=11).list_recordings()
    replay = archive.replay(copies[-1].recording_id, IPC, 900, ALL)
    assert messages_of(replay, 200) == expected(200)
