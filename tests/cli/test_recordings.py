"""The commands `recordings list`, `verify`, `export` and `purge`."""

import json
import time
from datetime import UTC, datetime

import pytest
from archive_frames import flip_bit, store_checksums
from packed_archive import entry_offsets, overwrite, unpack

from aeron_core.cli.quantities import age_ns_of, duration_ns_of, time_ns_of, time_text
from aeron_core.errors import ConfigurationError
from aeron_core.recording.retention.leases import write_lease
from aeron_core.testing.recordings import NOW_NS, TERM_LENGTH, RecordingUnderTest, frames_at

SEGMENT = 2 * TERM_LENGTH
S = 1_000_000_000


@pytest.fixture
def ended(tmp_path):
    """A stopped recording of two and a half segments."""
    written = RecordingUnderTest.begin(tmp_path / "archive")
    for _ in range(5):
        written.fill_term()
    written.stop()
    return written


@pytest.fixture
def live(ended):
    """Another recording of the archive; its recorder is dead."""
    written = RecordingUnderTest.begin(ended.store.folder, session_id=11)
    written.append(b"one", b"two")
    return written


def damage(written, at):
    with (written.folder / "0-0.rec").open("r+b") as file:
        file.seek(at)
        file.write(b"\xff")


def test_recordings_are_listed(aeron, ended, live):
    write_lease(ended.store, "spark", {0: 4096}, _now_ns())

    outcome = aeron("recordings", "list", ended.store.folder, "--json")

    first, second = json.loads(outcome.out)
    assert outcome.code == 0
    assert (first["recording_id"], first["state"], first["bytes"]) == (0, "ended", 5 * TERM_LENGTH)
    assert (first["start_time"], first["consumers"]) == ("2023-11-14T22:13:20Z", {"spark": 4096})
    assert (second["state"], second["stop_position"], second["position"]) == ("abandoned", None, 128)
    out = aeron("recordings", "list", ended.store.folder, "--consumers").out
    assert "abandoned" in out
    assert f"{5 * TERM_LENGTH - 4096:,}" in out


def test_an_unreadable_descriptor_does_not_hide_other_recordings(aeron, ended, live):
    (ended.folder / "recording.json").write_text("{")

    outcome = aeron("recordings", "list", ended.store.folder, "--json")

    assert outcome.code == 1
    assert [document["recording_id"] for document in json.loads(outcome.out)] == [1]
    assert "0/recording.json: descriptor: Invalid JSON" in outcome.err


def test_a_sound_archive_is_verified(aeron, ended, live):
    outcome = aeron("recordings", "verify", ended.store.folder, "--json")

    assert outcome.code == 0
    assert [document["faults"] for document in json.loads(outcome.out)] == [[], []]
    assert "verified 2 recordings, 327,808 bytes" in outcome.err
    assert "0 faults" in outcome.err


def test_a_fault_is_reported_with_its_position(aeron, ended, live):
    damage(ended, 100)

    outcome = aeron("recordings", "verify", ended.store.folder)

    assert outcome.code == 1
    assert "error: recording 0 position 0: 0-0.rec: checksum" in outcome.err
    assert aeron("recordings", "verify", ended.store.folder, 1).code == 0


def test_frames_that_a_dead_recorder_has_not_published_are_no_fault(aeron, live):
    live.writer.append(memoryview(frames_at(128, [b"three"])), live.now_ns)

    outcome = aeron("recordings", "verify", live.store.folder, 1, "--json")

    assert (outcome.code, json.loads(outcome.out)[0]["unpublished_bytes"]) == (0, 64)
    assert (
        "notice: recording 1: its recorder ended without publishing its last 64 bytes, from position 128 on"
        in outcome.err
    )


def test_damage_is_exported_only_on_request(aeron, ended):
    damage(ended, 100)

    outcome = aeron("recordings", "export", ended.store.folder, 0, "--output", "/dev/null")

    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "error: recording 0 position 0: the frames up to" in outcome.err
    assert (
        aeron("recordings", "export", ended.store.folder, 0, "--no-verify", "--output", "/dev/null").code == 0
    )


def test_damage_is_accepted_on_request(aeron, ended):
    damage(ended, 100)

    outcome = aeron("recordings", "verify", ended.store.folder, "--accept")

    assert outcome.code == 0
    assert outcome.err.startswith("aeron-core: recording 0 positions 0 to 65472: accepted as they are\n")
    assert aeron("recordings", "export", ended.store.folder, 0, "--output", "/dev/null").code == 0


def test_messages_are_exported_as_lines_to_stdout(aeron, live):
    outcome = aeron("recordings", "export", live.store.folder, 1)

    assert (outcome.code, outcome.out) == (0, "one\ntwo\n")
    assert "exported 2 messages of recording 1 from position 0 to 128" in outcome.err


def test_the_summary_of_an_export_to_stdout_is_json_on_stderr(aeron, live):
    outcome = aeron("recordings", "export", live.store.folder, 1, "--json")

    assert outcome.out == "one\ntwo\n"
    assert json.loads(outcome.err) == {"recording_id": 1, "begin": 0, "end": 128, "messages": 2}


def test_a_range_of_positions_is_exported(aeron, live, tmp_path):
    file = tmp_path / "out"

    options = ("--begin", 64, "--format", "length-prefixed", "--output", file, "--json")
    outcome = aeron("recordings", "export", live.store.folder, 1, *options)

    assert json.loads(outcome.out) == {"recording_id": 1, "begin": 64, "end": 128, "messages": 1}
    assert file.read_bytes() == b"\3\0\0\0two"


def test_a_range_of_times_is_exported(aeron, ended):
    entries = ended.archive.recording(0).index_entries(0)
    since = time_text(int(entries["time_ns"][2]))

    outcome = aeron("recordings", "export", ended.store.folder, 0, "--since", since, "--output", "/dev/null")

    assert f"from position {int(entries['end_position'][1])} to {5 * TERM_LENGTH}" in outcome.err


def test_segments_before_a_position_are_purged(aeron, ended):
    outcome = aeron("recordings", "purge", ended.store.folder, 0, "--before", SEGMENT + 64, "--json")

    assert outcome.code == 0
    assert json.loads(outcome.out) == [{"recording_id": 0, "bytes": SEGMENT, "start_position": SEGMENT}]


def test_segments_before_a_time_are_purged_in_all_recordings(aeron, ended, live):
    outcome = aeron("recordings", "purge", ended.store.folder, "--before-time", "1h", "--json")

    assert [document["start_position"] for document in json.loads(outcome.out)] == [2 * SEGMENT, 0]


def test_a_whole_recording_is_purged(aeron, ended):
    assert aeron("recordings", "purge", ended.store.folder, 0, "--all").code == 0
    assert ended.archive.recordings() == []


@pytest.mark.parametrize("what", [("--all",), ("--before", 2 * SEGMENT), ("--before-time", "1s")])
def test_data_that_a_lease_needs_is_purged_only_by_force(aeron, ended, what):
    write_lease(ended.store, "spark", {0: SEGMENT}, _now_ns())

    outcome = aeron("recordings", "purge", ended.store.folder, 0, *what)

    assert outcome.code == 1
    assert f"recording 0: consumer 'spark' needs it from position {SEGMENT} on; use --force" in outcome.err
    assert ended.archive.recording(0).start_position == 0
    assert aeron("recordings", "purge", ended.store.folder, 0, *what, "--force").code == 0


def test_the_recordings_of_an_aeron_archive_are_listed_verified_and_exported(aeron, tmp_path):
    folder = unpack(tmp_path / "foreign")

    listed = aeron("recordings", "list", folder, "--json")
    assert [one["recording_id"] for one in json.loads(listed.out)] == [0, 1, 2, 3, 5]
    verified = aeron("recordings", "verify", folder)
    assert (verified.code, "verified 5 recordings" in verified.err) == (0, True)
    exported = aeron("recordings", "export", folder, 3, "--output", "/dev/null", "--json")
    assert (exported.code, json.loads(exported.out)["messages"]) == (0, 100)


def test_checksums_in_the_frames_of_an_aeron_archive_are_compared_on_request(aeron, tmp_path):
    folder = unpack(tmp_path / "foreign")
    store_checksums(folder, "crc32")

    found = aeron("recordings", "verify", folder, 0, "--json")
    assert (
        "recording 0: its frames have checksums, which were not compared: add --checksum=crc32" in found.err
    )
    assert json.loads(found.out)[0]["uncompared_checksum"] == "crc32"
    sound = aeron("recordings", "export", folder, 0, "--checksum", "crc32", "--output", "/dev/null")
    flip_bit(folder, "0-0.rec", 9)
    commands = [
        ("verify", folder, 0),
        ("export", folder, 0, "--output", "/dev/null"),
        ("convert", folder, tmp_path / "ours"),
    ]
    damaged = [aeron("recordings", *command, "--checksum=crc32") for command in commands]

    assert sound.code == 0
    assert all((each.code, "checksum=0x" in each.err) == (1, True) for each in damaged)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-verify"], "--checksum=crc32 and --no-verify: only one of them is allowed"),
        ([], "must be given only for the files of an Aeron Archive"),
    ],
)
def test_a_checksum_that_would_not_be_compared_is_refused(aeron, ended, options, message):
    outcome = aeron("recordings", "export", ended.store.folder, 0, "--checksum=crc32", *options)

    assert (outcome.code, message in outcome.err) == (2, True)


def test_a_damaged_catalogue_of_an_aeron_archive_is_an_error_of_list_and_verify(aeron, tmp_path):
    folder = unpack(tmp_path / "foreign")
    with (folder / "archive.catalog").open("r+b") as file:
        file.seek(32)
        file.write(b"\x04")

    for command in ("list", "verify"):
        outcome = aeron("recordings", command, folder)
        assert (outcome.code, "archive.catalog offset 32: an entry of" in outcome.err) == (1, True)


def test_a_damaged_entry_of_an_aeron_archive_is_a_fault_of_its_catalogue(aeron, tmp_path):
    folder = unpack(tmp_path / "foreign")
    overwrite(folder, entry_offsets(folder)[1] + 92, b"\x03")  # the length of a segment

    outcome = aeron("recordings", "verify", folder)

    assert outcome.code == 1
    assert "recording 1 position 0: archive.catalog: " in outcome.err


def test_an_aeron_archive_is_not_purged(aeron, tmp_path):
    folder = unpack(tmp_path / "foreign")

    outcome = aeron("recordings", "purge", folder, "--all")

    assert (outcome.code, "belongs to Aeron Archive" in outcome.err) == (2, True)


def test_data_that_no_lease_needs_is_purged(aeron, ended):
    write_lease(ended.store, "spark", {0: SEGMENT}, _now_ns())

    assert aeron("recordings", "purge", ended.store.folder, 0, "--before", SEGMENT).code == 0
    assert ended.archive.recording(0).start_position == SEGMENT


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("list", "no-such-folder"), 1, "there is no archive of recordings"),
        (("verify", "{}", 7), 1, "recording 7 in"),
        (("export", "{}", 0, "--begin", 32), 2, "position 32: no frame begins there"),
        (
            ("export", "{}", 0, "--begin", 64, "--end", 32),
            2,
            "range from position 64 to 32: must end at or after its beginning; change --begin or --end",
        ),
        (("export", "{}", 0, "--begin", 2**40), 2, "must end at or after its beginning; change --begin"),
        (
            ("export", "{}", 0, "--begin", 64, "--since", "1h"),
            2,
            "--begin and --since are 64 and 1h: only one of them is allowed",
        ),
        (("export", "{}", 0, "--since", "soon"), 2, "--since='soon': must be a time such as"),
        (("export", "{}", 0, "--end", 2**40), 1, "was not recorded"),
        (("purge", "{}", 0), 2, "no limit given: must be exactly one of --before, --before-time, --all"),
        (("purge", "{}", "--before", 0), 2, "--before with 0 recording ids: must be exactly one"),
    ],
)
def test_a_failure_is_reported_in_one_line(aeron, ended, arguments, code, message):
    outcome = aeron("recordings", *(str(argument).format(ended.store.folder) for argument in arguments))

    assert (outcome.code, outcome.err.count("\n")) == (code, 1)
    assert message in outcome.err


@pytest.mark.parametrize(
    ("text", "time_ns"), [("5s", 5 * S), ("2min", 120 * S), ("12h", 43200 * S), ("7d", 604800 * S)]
)
def test_durations_have_units(text, time_ns):
    assert duration_ns_of("--x", text) == time_ns


def test_times_keep_their_microseconds():
    assert time_ns_of("--x", "2023-11-14T22:13:20.123457Z", 0) == NOW_NS + 123_457_000
    assert time_text(NOW_NS + 123_457_000) == "2023-11-14T22:13:20.123457Z"
    assert time_ns_of("--x", "5s", NOW_NS) == NOW_NS - 5 * S


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31T23:00"])
def test_a_local_time_at_the_limits_of_the_calendar_is_refused(monkeypatch, text):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with pytest.raises(
            ConfigurationError, match=f"--x='{text}': must be a time from 0002-01-01 to 9999-12-30"
        ):
            time_ns_of("--x", text, 0)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["2m", "2 min", "1.5h", "-1s"])
def test_the_message_for_a_wrong_duration_names_the_units(text):
    for parse in (duration_ns_of, age_ns_of):
        with pytest.raises(
            ConfigurationError, match=f"--x='{text}': must be a whole number with a unit ns, .* min, h or d"
        ):
            parse("--x", text)


def _now_ns():
    return int(datetime.now(UTC).timestamp()) * S
