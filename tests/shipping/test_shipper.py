"""Shipping of files: messages, saved offsets, and duplicates after a restart."""

import glob
import json
import os

import pytest

from aeron_core.errors import ClosedError, ConfigurationError
from aeron_core.shipping.file_watcher import _is_wanted
from aeron_core.shipping.shipper import Shipper, ShipperParams, confirmed_position
from aeron_core.testing.pair import S, Simulation

LONG = "a line that is long enough to be known again "


def test_lines_are_shipped_as_they_are_written(shipping):
    shipping.write("one\ntwo\n")
    shipping.start()

    assert shipping.run() == [b"one", b"two"]
    shipping.write("three\nfo")
    assert shipping.run() == [b"three"]
    shipping.write("ur\n")
    assert shipping.run() == [b"four"]
    assert shipping.saved() == {"app.log": 19}


def test_a_line_is_an_event(shipping):
    shipping.write('one\na "b" \xe4\n'.encode("latin-1"))
    shipping.start(is_raw=False)

    events = [json.loads(message) for message in shipping.run()]

    assert events[1] == {
        "@timestamp": "2023-11-14T22:13:20.000Z",
        "message": 'a "b" \ufffd',
        "log": {"offset": 4, "file": {"path": str(shipping.path())}},
        "host": {"name": "here"},
    }


def test_files_that_match_patterns_are_followed_oldest_first(shipping):
    for number, name in enumerate(["b.log", "a.log", "c.txt"]):
        shipping.write(f"{name}\n", name)
        os.utime(shipping.path(name), (number, number))
    shipping.start("*.log")

    assert shipping.run() == [b"b.log", b"a.log"]
    shipping.write("d\n", "d.log")
    assert shipping.run() == [b"d"]
    assert shipping.shipper.file_count == 3


def test_a_path_that_is_not_a_regular_file_is_ignored(shipping):
    shipping.path("app.log").mkdir()
    os.mkfifo(shipping.path("b.log"))
    shipping.start("*.log")

    assert shipping.run() == []


def test_existing_content_can_be_skipped(shipping):
    shipping.write("one\nbeg")
    shipping.start("*.log", from_end=True)
    shipping.run()
    shipping.write("un\n")
    shipping.write("new\n", "b.log")

    assert sorted(shipping.run()) == [b"begun", b"new"]


def test_only_confirmed_offsets_are_saved(shipping):
    shipping.write("one\ntwo\nthree\n")
    shipping.start()
    shipping.run(confirms=False)
    shipping.stream.confirm(messages=2)
    shipping.run(confirms=False)

    assert shipping.saved() == {"app.log": 8}
    assert (shipping.shipper.lines, shipping.shipper.in_flight) == (2, 1)
    shipping.kill()
    shipping.start()
    assert shipping.run() == [b"three"]


def test_nothing_is_shipped_twice_after_a_clean_close(shipping):
    shipping.write("one\ntwo\n")
    shipping.start()
    shipping.run()
    shipping.end()
    shipping.write("three\n")
    shipping.start()

    assert shipping.run() == [b"three"]


def test_at_most_a_window_is_shipped_twice(shipping):
    lines = [b"%06d" % number for number in range(5000)]
    shipping.write(b"\n".join(lines) + b"\n")
    came, most = set(), 0
    for _ in range(30):
        shipping.start(window_length=10_000)
        again = 0
        for message in shipping.run(0.3):
            again += (len(message) + 32) * (message in came)
            came.add(message)
        most = max(most, again)
        shipping.kill()

    shipping.start(window_length=10_000)
    came |= set(shipping.run(10))
    assert came == set(lines)
    assert most <= 10_000


def test_back_pressure_delays_shipping(shipping):
    shipping.write("".join(f"{number}\n" for number in range(100)))
    shipping.stream.window = 0
    shipping.start()
    shipping.stream.window = 200

    assert len(shipping.run(confirms=False)) < 10
    assert not shipping.shipper.is_done
    assert [*shipping.stream.messages, *shipping.run(10)] == [b"%d" % number for number in range(100)]


def test_the_unread_length_is_reported(shipping):
    shipping.write("one\ntwo\nthr")
    shipping.start(read_length=6)
    shipping.stream.window = 0
    shipping.run()

    assert shipping.shipper.unread_length == 11
    shipping.stream.window = 1000
    shipping.run()
    assert shipping.shipper.unread_length == 3


def test_without_following_existing_lines_and_the_incomplete_last_line_are_shipped(shipping):
    shipping.write("one\ntwo")
    shipping.start(follows=False)

    assert shipping.run() == [b"one", b"two"]
    assert shipping.shipper.is_done
    shipping.end()
    shipping.start(follows=False)
    assert shipping.run() == []
    assert shipping.shipper.is_done


def test_a_line_longer_than_a_message_is_shipped_in_pieces(shipping):
    shipping.write("0123456789" * 10 + "\nnext\n")
    shipping.start()
    shipping.stream.max_message_length = 30

    messages = shipping.run()

    assert b"".join(messages[:-1]) == b"0123456789" * 10
    assert max(map(len, messages)) <= 30
    assert shipping.saved() == {"app.log": 106}


def test_the_offset_of_half_a_line_is_never_saved(shipping):
    shipping.write("one\n" + "0123456789" * 10 + "\n")
    shipping.start()
    shipping.stream.max_message_length = 30
    shipping.run(confirms=False)
    shipping.stream.confirm(messages=3)
    shipping.run(confirms=False)

    assert shipping.saved() == {"app.log": 4}


def test_a_maximum_message_too_short_for_any_line_is_refused(shipping):
    shipping.write("one\n")
    shipping.start(is_raw=False)
    shipping.stream.max_message_length = 20

    with pytest.raises(ConfigurationError, match="maximum message of 20 bytes"):
        shipping.run()


def test_two_shippers_cannot_share_a_state_folder(shipping):
    shipping.start()

    with pytest.raises(ConfigurationError, match="in use by another shipper"):
        Shipper(
            shipping.stream,
            lambda: 0,
            ShipperParams(patterns=["x"], state_folder=shipping.folder / "state"),
        )


def test_a_damaged_registry_is_reported(shipping):
    shipping.path("state").mkdir()
    (shipping.path("state") / "registry.json").write_text("{")

    with pytest.raises(ConfigurationError, match=r"registry\.json: is damaged"):
        shipping.start()


ENTRY = {
    "device": 1,
    "inode": 2,
    "path": "/a",
    "offset": 3,
    "tail_length": 3,
    "tail_sha256": "0" * 64,
    "seen_ns": 1,
}


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (ENTRY | {"offset": "3"}, "offset='3': must be an integer"),
        (ENTRY | {"offset": True}, "offset=True: must be an integer"),
        (ENTRY | {"offset": 3.5}, "offset=3.5: must be an integer"),
        (ENTRY | {"offset": -1}, "offset=-1: must be at least 0"),
        (ENTRY | {"seen_ns": None}, "seen_ns=None: must be an integer"),
        (ENTRY | {"path": 7}, "path=7: must be text"),
        (ENTRY | {"other": 7}, "other"),
        ([1], "must be an integer"),
    ],
)
def test_an_entry_of_the_registry_with_a_wrong_field_is_reported(shipping, row, text):
    shipping.path("state").mkdir()
    (shipping.path("state") / "registry.json").write_text(json.dumps({"version": 1, "files": [row]}))

    with pytest.raises(ConfigurationError, match=r"registry\.json: is damaged") as caught:
        shipping.start()
    assert text in str(caught.value)


def test_a_registry_of_another_version_is_refused(shipping):
    shipping.path("state").mkdir()
    (shipping.path("state") / "registry.json").write_text('{"version": 2}')

    with pytest.raises(ConfigurationError, match="version=2: must be 1"):
        shipping.start()


def test_a_registry_contains_no_text_of_files(shipping):
    shipping.write("secret\n")
    shipping.start()
    shipping.run()

    assert "secret" not in (shipping.path("state") / "registry.json").read_text()


def test_a_closed_publication_raises(shipping):
    shipping.start()
    shipping.stream.is_closed = True

    with pytest.raises(ClosedError):
        shipping.run()


def test_a_counter_reused_by_another_client_confirms_nothing(tmp_path):
    with Simulation(tmp_path) as simulation:
        driver = simulation.add_driver()
        client, other = driver.connect(), driver.connect()
        publication = simulation.result(
            client.add_exclusive_publication_async("aeron:udp?endpoint=127.0.0.1:20121", 1)
        )
        confirmed = confirmed_position(client, publication)
        before = confirmed()
        (position,) = driver.find_counters("snd-pos")
        # As a process that is suspended until its driver has timed it out.
        driver.abandon(client)
        simulation.run_for(30 * S)
        taken = [simulation.result(other.add_counter_async(1000, b"", "taken")) for _ in range(30)]
        for counter in taken:
            counter.value = 1 << 40

        assert position.id in {counter.id for counter in taken}
        assert confirmed() == before


def test_an_unreadable_file_is_reported_once_and_delays_no_other(shipping):
    shipping.write("one\n")
    shipping.start("/proc/self/mem", "app.log")

    assert shipping.run() == [b"one"]
    shipping.write("two\n")
    assert shipping.run() == [b"two"]
    (error,) = shipping.errors
    assert (error.filename, error.strerror) == ("/proc/self/mem", "Input/output error")
    assert shipping.shipper.unread_length == 0


@pytest.mark.parametrize(
    "pattern",
    [
        "*.log",
        "*",
        ".*",
        "*/*.log",
        "**/a.log",
        "**",
        "**/*.log",
        "d/**/*.log",
        "d**/a.log",
        "**/.hidden/*",
        ".hidden/**",
        "[ab].log",
        "?/e/*",
        "d/a.log",
        "**/**/a.log",
    ],
)
def test_a_path_is_wanted_if_glob_finds_it(tmp_path, pattern):
    for name in (
        "a.log",
        ".b.log",
        "d/a.log",
        "d/.c.log",
        "d/e/a.log",
        "d/e/f/a.log",
        ".hidden/a.log",
        "d/.h/a.log",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = [str(path) for path in tmp_path.rglob("*") if path.is_file()]
    wanted = str(tmp_path / pattern)

    found = [path for path in glob.glob(wanted, recursive=True) if os.path.isfile(path)]

    assert sorted(path for path in files if _is_wanted(path, [wanted])) == sorted(set(found))
