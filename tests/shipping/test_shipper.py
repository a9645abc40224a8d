"""Files that are shipped: what comes, what is saved, what comes twice."""

import json
import os
import shutil

import pytest

from aeron_core.errors import ClosedError, ConfigurationError
from aeron_core.shipping.shipper import Shipper, ShipperParams, confirmed_position
from aeron_core.testing.pair import S, Simulation

LONG = "a line that is long enough to be known again "


def test_lines_come_as_they_are_written(shipping):
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


def test_files_of_patterns_are_followed_the_oldest_first(shipping):
    for number, name in enumerate(["b.log", "a.log", "c.txt"]):
        shipping.write(f"{name}\n", name)
        os.utime(shipping.path(name), (number, number))
    shipping.start("*.log")

    assert shipping.run() == [b"b.log", b"a.log"]
    shipping.write("d\n", "d.log")
    assert shipping.run() == [b"d"]
    assert shipping.shipper.file_count == 3


def test_a_file_that_is_no_file_is_passed_over(shipping):
    shipping.path("app.log").mkdir()
    os.mkfifo(shipping.path("b.log"))
    shipping.start("*.log")

    assert shipping.run() == []


def test_what_was_there_can_be_left_out(shipping):
    shipping.write("one\nbeg")
    shipping.start("*.log", from_end=True)
    shipping.run()
    shipping.write("un\n")
    shipping.write("new\n", "b.log")

    assert sorted(shipping.run()) == [b"begun", b"new"]


def test_only_what_is_confirmed_is_saved(shipping):
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


def test_nothing_comes_again_after_an_end_in_order(shipping):
    shipping.write("one\ntwo\n")
    shipping.start()
    shipping.run()
    shipping.end()
    shipping.write("three\n")
    shipping.start()

    assert shipping.run() == [b"three"]


def test_no_more_than_a_window_comes_twice(shipping):
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


def test_a_stream_without_room_is_waited_for(shipping):
    shipping.write("".join(f"{number}\n" for number in range(100)))
    shipping.stream.room = 0
    shipping.start()
    shipping.stream.room = 200

    assert len(shipping.run(confirms=False)) < 10
    assert not shipping.shipper.is_done
    assert [*shipping.stream.messages, *shipping.run(10)] == [b"%d" % number for number in range(100)]


def test_what_is_behind_is_told(shipping):
    shipping.write("one\ntwo\nthr")
    shipping.start(read_length=6)
    shipping.stream.room = 0
    shipping.run()

    assert shipping.shipper.unread_length == 11
    shipping.stream.room = 1000
    shipping.run()
    assert shipping.shipper.unread_length == 3


def test_a_renamed_file_is_read_to_its_end(shipping):
    shipping.write("one\n")
    shipping.start()
    shipping.run()
    shipping.path().rename(shipping.path("app.log.1"))
    shipping.write("two\nlas", "app.log.1")
    shipping.write("three\n")

    assert sorted(shipping.run()) == [b"three", b"two"]
    shipping.write("t", "app.log.1")
    assert shipping.run(40) == [b"last"]
    shipping.run()
    assert shipping.shipper.file_count == 1


def test_a_renamed_file_that_a_pattern_finds_is_the_same_file(shipping):
    shipping.write("one\n")
    shipping.start("app.log*")
    shipping.run()
    shipping.path().rename(shipping.path("app.log.1"))
    shipping.write("two\n")

    assert shipping.run() == [b"two"]
    assert shipping.saved() == {"app.log": 4, "app.log.1": 4}


def test_what_was_renamed_while_nobody_looked_is_found(shipping):
    shipping.write("one\n")
    shipping.start()
    shipping.run()
    shipping.end()
    shipping.write("two\n")
    shipping.path().rename(shipping.path("app.log.1"))
    shipping.write("three\n")
    shipping.start()

    assert sorted(shipping.run()) == [b"three", b"two"]
    shipping.end()
    shipping.write("four\n", "app.log.1")
    shipping.start()
    assert shipping.run() == [b"four"]


@pytest.mark.parametrize("size", ["shorter", "longer"])
def test_a_file_that_was_emptied_begins_anew(shipping, size):
    shipping.write("one\ntwo\nthr")
    shipping.start()
    shipping.run()
    new = ["new"] * (1 if size == "shorter" else 20)
    shipping.path().write_text("".join(f"{line}\n" for line in new))

    assert shipping.run() == [b"thr", *[b"new"] * len(new)]
    assert shipping.saved() == {"app.log": 4 * len(new)}


def test_a_file_that_was_emptied_while_nobody_looked_begins_anew(shipping):
    shipping.write(f"{LONG}1\n")
    shipping.start()
    shipping.run()
    shipping.end()
    shipping.path().write_text(f"{LONG}2\n{LONG}3\n")
    shipping.start()

    assert shipping.run() == [f"{LONG}{number}".encode() for number in (2, 3)]


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_file_that_was_copied_and_emptied_is_read_on_in_the_copy(shipping, is_watched):
    shipping.write(f"{LONG}1\n")
    shipping.start("app.log*")
    shipping.run()
    if not is_watched:
        shipping.end()
    shipping.write(f"{LONG}2\n")
    shutil.copy(shipping.path(), shipping.path("app.log.1"))
    shipping.path().write_text(f"{LONG}3\n")
    if not is_watched:
        shipping.start("app.log*")

    assert sorted(shipping.run()) == [f"{LONG}{number}".encode() for number in (2, 3)]


def test_a_copy_waits_until_it_is_known_what_it_is(shipping):
    shipping.write(f"{LONG}1\n")
    shipping.start("app.log*")
    shipping.run()
    shutil.copy(shipping.path(), shipping.path("app.log.1"))
    assert shipping.run() == []

    shipping.path().write_text("new\n")

    assert shipping.run() == [b"new"]
    assert shipping.saved()["app.log.1"] == len(LONG) + 2


def test_a_new_file_in_the_place_of_an_old_one_begins_at_its_beginning(shipping):
    shipping.write("one\n")
    shipping.start()
    shipping.run()
    shipping.path().unlink()
    shipping.write("two\n")

    assert shipping.run() == [b"two"]


def test_once_ships_what_is_there_with_a_last_line_that_has_no_end(shipping):
    shipping.write("one\ntwo")
    shipping.start(follows=False)

    assert shipping.run() == [b"one", b"two"]
    assert shipping.shipper.is_done
    shipping.end()
    shipping.start(follows=False)
    assert shipping.run() == []
    assert shipping.shipper.is_done


def test_a_line_that_is_too_long_for_a_message_comes_in_pieces(shipping):
    shipping.write("0123456789" * 10 + "\nnext\n")
    shipping.start()
    shipping.stream.max_message_length = 30

    messages = shipping.run()

    assert b"".join(messages[:-1]) == b"0123456789" * 10
    assert max(map(len, messages)) <= 30
    assert shipping.saved() == {"app.log": 106}


def test_half_a_line_is_never_saved(shipping):
    shipping.write("one\n" + "0123456789" * 10 + "\n")
    shipping.start()
    shipping.stream.max_message_length = 30
    shipping.run(confirms=False)
    shipping.stream.confirm(messages=3)
    shipping.run(confirms=False)

    assert shipping.saved() == {"app.log": 4}


def test_a_message_that_has_no_room_for_anything_is_refused(shipping):
    shipping.write("one\n")
    shipping.start(is_raw=False)
    shipping.stream.max_message_length = 20

    with pytest.raises(ConfigurationError, match="longest message of 20 bytes"):
        shipping.run()


def test_two_shippers_do_not_share_a_state(shipping):
    shipping.start()

    with pytest.raises(ConfigurationError, match="in use by another shipper"):
        Shipper(
            shipping.stream,
            lambda: 0,
            ShipperParams(patterns=["x"], state_folder=shipping.folder / "state"),
        )


def test_a_damaged_registry_is_told(shipping):
    shipping.path("state").mkdir()
    (shipping.path("state") / "registry.json").write_text("{")

    with pytest.raises(ConfigurationError, match=r"registry\.json: is damaged"):
        shipping.start()


def test_a_registry_of_another_version_is_told(shipping):
    shipping.path("state").mkdir()
    (shipping.path("state") / "registry.json").write_text('{"version": 2}')

    with pytest.raises(ConfigurationError, match="of version 2, must be 1"):
        shipping.start()


def test_a_registry_holds_no_text_of_files(shipping):
    shipping.write("secret\n")
    shipping.start()
    shipping.run()

    assert "secret" not in (shipping.path("state") / "registry.json").read_text()


def test_the_end_of_the_publication_is_told(shipping):
    shipping.start()
    shipping.stream.is_closed = True

    with pytest.raises(ClosedError):
        shipping.run()


def test_a_counter_that_was_given_to_others_confirms_nothing(tmp_path):
    with Simulation(tmp_path) as simulation:
        driver = simulation.add_driver()
        client, other = driver.connect(), driver.connect()
        publication = simulation.result(
            client.add_exclusive_publication_async("aeron:udp?endpoint=127.0.0.1:20121", 1)
        )
        confirmed = confirmed_position(client, publication)
        before = confirmed()
        (position,) = driver.find_counters("snd-pos")
        # As a process that is stopped and goes on when its driver has taken it for dead.
        driver.forsake(client)
        simulation.run_for(30 * S)
        taken = [simulation.result(other.add_counter_async(1000, b"", "taken")) for _ in range(30)]
        for counter in taken:
            counter.value = 1 << 40

        assert position.id in {counter.id for counter in taken}
        assert confirmed() == before


def test_a_file_that_cannot_be_read_is_told_once_and_holds_no_other_up(shipping):
    shipping.write("one\n")
    shipping.start("/proc/self/mem", "app.log")

    assert shipping.run() == [b"one"]
    shipping.write("two\n")
    assert shipping.run() == [b"two"]
    (error,) = shipping.errors
    assert (error.filename, error.strerror) == ("/proc/self/mem", "Input/output error")
    assert shipping.shipper.unread_length == 0
