"""Shipping of files that are renamed, truncated, copied or replaced, with and without a shipper."""

import shutil

import pytest

LONG = "a line that is long enough to be known again "


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


def test_a_renamed_file_that_matches_a_pattern_is_the_same_file(shipping):
    shipping.write("one\n")
    shipping.start("app.log*")
    shipping.run()
    shipping.path().rename(shipping.path("app.log.1"))
    shipping.write("two\n")

    assert shipping.run() == [b"two"]
    assert shipping.saved() == {"app.log": 4, "app.log.1": 4}


def test_a_file_renamed_while_no_shipper_ran_is_found(shipping):
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
def test_a_truncated_file_is_read_from_its_beginning(shipping, size):
    shipping.write("one\ntwo\nthr")
    shipping.start()
    shipping.run()
    new = ["new"] * (1 if size == "shorter" else 20)
    shipping.path().write_text("".join(f"{line}\n" for line in new))

    assert shipping.run() == [b"thr", *[b"new"] * len(new)]
    assert shipping.saved() == {"app.log": 4 * len(new)}


def test_a_file_truncated_while_no_shipper_ran_is_read_from_its_beginning(shipping):
    shipping.write(f"{LONG}1\n")
    shipping.start()
    shipping.run()
    shipping.end()
    shipping.path().write_text(f"{LONG}2\n{LONG}3\n")
    shipping.start()

    assert shipping.run() == [f"{LONG}{number}".encode() for number in (2, 3)]


@pytest.mark.parametrize("is_watched", [True, False])
def test_after_copy_and_truncation_the_rest_is_read_from_the_copy(shipping, is_watched):
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


def test_a_copy_is_not_read_until_its_original_changes(shipping):
    shipping.write(f"{LONG}1\n")
    shipping.start("app.log*")
    shipping.run()
    shutil.copy(shipping.path(), shipping.path("app.log.1"))
    assert shipping.run() == []

    shipping.path().write_text("new\n")

    assert shipping.run() == [b"new"]
    assert shipping.saved()["app.log.1"] == len(LONG) + 2


def test_a_file_that_replaces_another_is_read_from_its_beginning(shipping):
    shipping.write("one\n")
    shipping.start()
    shipping.run()
    shipping.path().unlink()
    shipping.write("two\n")

    assert shipping.run() == [b"two"]


def test_a_file_directly_below_a_recursive_pattern_is_found_after_a_rename_without_a_shipper(shipping):
    shipping.write("one\n")
    shipping.start("**/app.log")
    assert shipping.run() == [b"one"]
    shipping.end()
    shipping.write("two\n")
    shipping.path().rename(shipping.path("app.log.1"))

    shipping.start("**/app.log")

    assert shipping.run() == [b"two"]


def test_a_renamed_file_of_a_folder_that_no_pattern_reaches_any_longer_is_not_followed(shipping):
    shipping.path("deep").mkdir()
    shipping.write("one\n", "deep/app.log")
    shipping.start("deep/*.log")
    assert shipping.run() == [b"one"]
    shipping.end()
    shipping.write("two\n", "deep/app.log")
    shipping.path("deep/app.log").rename(shipping.path("deep/app.log.1"))

    shipping.start("*.log")

    assert shipping.run() == []
