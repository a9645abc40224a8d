import json
import os
import re
import time

import pytest

import aeron_core
from aeron_core._native import wire
from aeron_core.cli.tools.stat import _page, _Selection
from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import StorageError
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.protocol.cnc import CncFile, CncLayout


def test_the_counters_of_a_dead_driver_are_shown(aeron, dead_directory):
    outcome = aeron("stat", "--once", "--aeron-dir", dead_directory)

    assert outcome.code == 0
    assert "Aeron Stat (CnC v0.2.0)" in outcome.out
    assert " 1 - Errors: " in outcome.out


def test_counters_are_shown_in_the_layout_of_the_reference(aeron, tmp_path):
    settings = {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m", "term_buffer_length": "64k"}
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        driver.do_work()
        head, rule, *counters = aeron("stat", "--once", "-d", driver.aeron_dir).out.splitlines()

    # Source: aeron_stat.c; ids are as wide as the last of 1m / 128 counters.
    date = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d{4}"
    assert re.fullmatch(date + r" - Aeron Stat \(CnC v0\.2\.0\), pid \d+, heartbeat age \d+ms", head)
    assert rule == "=" * 70
    assert all(re.match(r" *\d+: +-?[\d,]+ - \S", line) and line[4:6] == ": " for line in counters)
    assert counters[0] == f"   0: {0:>26} - Bytes sent"


def test_the_counters_are_shown_as_json(aeron, dead_directory):
    document = json.loads(aeron("stat", "--json", "-d", dead_directory, "--match", "^Bytes sent$").out)

    assert [counter["label"] for counter in document["counters"]] == ["Bytes sent"]
    assert document["cnc_version"] == "0.2.0"
    assert not document["is_alive"]


def test_a_heartbeat_after_a_clock_step_back_is_0_ms_old(aeron, dead_directory):
    to_driver = CncFile.open(dead_directory / "cnc.dat").to_driver
    ManyToOneRingBuffer(to_driver).consumer_heartbeat_ms = (int(time.time()) + 3600) * 1000

    document = json.loads(aeron("stat", "--json", "-d", dead_directory).out)

    assert document["heartbeat_age_ms"] == 0


def test_without_a_terminal_the_counters_are_shown_once(aeron, dead_directory):
    assert aeron("stat", "-d", dead_directory).code == 0


def test_the_errors_of_a_dead_driver_are_shown(aeron, dead_directory):
    outcome = aeron("errors", "-d", dead_directory)

    assert "(11) something went wrong" in outcome.out
    # Source: error_stat.c, which has the plural always.
    date = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d{4}"
    assert re.match(rf"\*\*\*\n1 observations from {date} to {date} for:\n ", outcome.out)
    assert outcome.out.endswith("\n\n1 distinct errors observed.\n")


def test_the_errors_are_shown_as_json(aeron, dead_directory):
    (record,) = json.loads(aeron("errors", "--json", "-d", dead_directory).out)

    assert record["text"] == "(11) something went wrong"
    assert record["observation_count"] == 1


def test_the_losses_of_a_dead_driver_are_shown_as_csv(aeron, dead_directory):
    header, row, closing = aeron("loss", "-d", dead_directory).out.splitlines()

    # Source: loss_stat.c.
    assert header == (
        "OBSERVATION_COUNT, TOTAL_BYTES_LOST, FIRST_OBSERVATION,"
        "LAST_OBSERVATION, SESSION_ID, STREAM_ID, CHANNEL, SOURCE"
    )
    assert row.startswith("1,64,")
    assert row.endswith(",7,1001,aeron:udp,1.2.3.4:5")
    assert closing == "1 entries read"


def test_the_losses_are_shown_as_json(aeron, dead_directory):
    (entry,) = json.loads(aeron("loss", "--json", "-d", dead_directory).out)

    first, last = entry.pop("first_observation_ms"), entry.pop("last_observation_ms")
    assert entry == {
        "observation_count": 1,
        "total_bytes_lost": 64,
        "session_id": 7,
        "stream_id": 1001,
        "channel": "aeron:udp",
        "source": "1.2.3.4:5",
    }
    assert 0 < first <= last


@pytest.mark.parametrize("count", [0, 2, 1001])
def test_losses_and_errors_are_counted_as_by_the_tools_of_the_reference(aeron, tmp_path, count):
    settings = {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        context = driver._assembly.context
        for session_id in range(count):
            losses = context.loss_report.prepare(
                session_id=session_id, stream_id=1, channel="aeron:udp", source="1.2.3.4:5"
            )
            losses.record(64, 1_000)
            context.errors.record(11, "again and again")

    # Scripts match these lines. Source: loss_stat.c, error_stat.c.
    assert aeron("loss", "-d", driver.aeron_dir).out.splitlines()[-1] == f"{count} entries read"
    text = aeron("errors", "-d", driver.aeron_dir).out
    assert text.endswith(f"\n{min(count, 1)} distinct errors observed.\n")
    assert text.startswith(f"***\n{count} observations from " if count else "\n0 distinct")


def test_tools_do_not_change_the_directory(aeron, dead_directory):
    before = (dead_directory / "cnc.dat").read_bytes()
    (dead_directory / "cnc.dat").chmod(0o444)

    aeron("stat", "-d", dead_directory)
    aeron("errors", "-d", dead_directory)

    assert (dead_directory / "cnc.dat").read_bytes() == before


def test_an_unknown_counter_type_is_reported_with_the_known_ones(aeron, tmp_path):
    settings = {
        "aeron_dir": tmp_path / "driver",
        "ipc_term_buffer_length": "64k",
        "counters_buffer_length": "1m",
    }
    with (
        aeron_core.MediaDriver.launch(settings) as driver,
        aeron_core.connect(driver.aeron_dir) as client,
        client.add_publication("aeron:ipc", 8),
    ):
        strange = aeron("stat", "--once", "--type", "nonsense", "-d", driver.aeron_dir)
        unmet = aeron("stat", "--once", "--type", "pub-pos", "--match", "^x", "-d", driver.aeron_dir)
        found = aeron("stat", "--once", "--type", "pub-pos", "-d", driver.aeron_dir)

    assert (strange.code, strange.err) == (
        0,
        "aeron-core: warning: no counter matches: no counter has type nonsense; present: 0, client-heartbeat, "
        "pub-lmt, pub-pos\n",
    )
    assert "no counter satisfies all of --match" in unmet.err
    assert (found.err, found.out.count("pub-pos")) == ("", 1)


def test_a_system_counter_that_a_driver_has_no_space_for_is_zero(tmp_path):
    layout = CncLayout.of(
        to_driver_length=1024 + wire.RING_TRAILER_LENGTH,
        to_clients_length=1024 + wire.BROADCAST_TRAILER_LENGTH,
        counters_values_length=4 * wire.COUNTER_VALUE_LENGTH,
        error_log_length=1024,
        page_size=4096,
    )
    cnc = CncFile.create(
        tmp_path / "cnc.dat", layout, client_liveness_timeout_ns=1, start_timestamp_ms=1, pid=1, fill=False
    )
    cnc.publish()

    files = DriverFiles.open(tmp_path)

    assert files.system_counter(4) == 0
    assert files.system_counter(3) == 0


HOSTILE = "\x1b]0;title\x07\r\n7"
ESCAPED = r"\x1b]0;title\x07\r\n7"


@pytest.mark.parametrize("command", ["stat", "errors", "loss", "streams", "backlog"])
def test_control_characters_of_other_users_are_shown_escaped(aeron, tmp_path, command):
    directory = tmp_path / "driver"
    settings = {"aeron_dir": directory, "counters_buffer_length": "1m", "term_buffer_length": "64k"}
    channel = f"aeron:ipc?alias={HOSTILE}"
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        context = driver._assembly.context
        context.errors.record(11, HOSTILE.replace("\n", ""))
        context.loss_report.prepare(session_id=7, stream_id=5, channel=channel, source=HOSTILE).record(
            64, 1000
        )
        with aeron_core.connect(
            settings=aeron_core.ClientSettings(aeron_dir=directory, use_conductor_agent_invoker=True)
        ) as client:
            client.add_subscription_async(channel, 5)
            client.add_publication_async(channel, 5)
            for _ in range(10):
                driver.do_work()
                client.do_work()
            outcome = aeron(command, "-d", directory)

    assert ESCAPED.replace(r"\n", "") in outcome.out.replace(r"\n", "")
    assert re.search(r"[\x00-\x09\x0b-\x1f]", outcome.out) is None
    assert not re.search(r"^7", outcome.out, re.M)


TRUNCATED = r"cnc\.dat was truncated from \d+ to 4096 bytes by another process: restart"


def test_a_file_that_is_truncated_between_two_pages_of_counters_is_an_error(dead_directory):
    files = DriverFiles.open(dead_directory)
    selection = _Selection(re.compile(""), (), None, None)
    assert "Bytes sent" in _page(files, selection)

    os.truncate(dead_directory / "cnc.dat", 4096)

    with pytest.raises(StorageError, match=TRUNCATED):
        _page(files, selection)


def test_a_truncated_file_is_an_error_of_each_command(aeron, dead_directory):
    os.truncate(dead_directory / "cnc.dat", 4096)

    for command in ("stat", "errors", "streams", "backlog"):
        outcome = aeron(command, "-d", dead_directory)
        assert outcome.code == 1
        assert "cnc.dat has 4096 bytes" in outcome.err
