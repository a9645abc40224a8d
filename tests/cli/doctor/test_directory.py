import os
from pathlib import Path

import pytest

from aeron_core.cli.doctor.directory import check_directory
from aeron_core.driver.media_driver import MediaDriver

SMALL = {"term_buffer_length": "64k", "ipc_term_buffer_length": "64k", "counters_buffer_length": "1m"}


@pytest.fixture
def directory(patient):
    return patient.root / "dev" / "shm" / "aeron-me"


def check(patient):
    return patient.health(check_directory, "directory /dev/shm/aeron-me")


def test_a_directory_that_does_not_exist_is_good(patient):
    assert check(patient) == ("ok", "does not exist")
    assert patient.health(check_directory, "permissions of /dev/shm") == ("ok", "writable")


def test_a_parent_that_is_not_writable_is_a_problem(patient):
    patient.machine.writable = False

    assert patient.health(check_directory, "permissions of /dev/shm")[0] == "problem"


def test_a_parent_that_this_user_may_not_inspect_is_a_problem(patient, monkeypatch):
    # Root may inspect all: the system call is replaced.
    folder = patient.root / "private"
    folder.mkdir()
    patient.settings["aeron_dir"] = "/private/me/aeron"
    patient.machine.writable = False
    stat = os.stat

    def refusing_stat(path, **options):
        if Path(os.fsdecode(path)).is_relative_to(folder / "me"):
            raise PermissionError
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refusing_stat)

    assert patient.health(check_directory, "permissions of /private")[0] == "problem"


def test_the_directory_of_another_user_is_a_problem(patient, directory):
    directory.mkdir()
    patient.machine.writable = False

    assert check(patient) == ("problem", "belongs to another user")


def test_a_file_in_place_of_the_directory_is_a_problem(patient, directory):
    directory.write_text("")

    assert check(patient) == ("problem", "is no directory")


def test_files_that_no_driver_created_are_a_problem(patient, directory):
    directory.mkdir()
    (directory / "thesis.tex").write_text("")

    assert check(patient) == ("problem", "contains 'thesis.tex', which no driver created")


def test_a_directory_without_a_complete_driver_is_good(patient, directory):
    directory.mkdir()

    assert check(patient) == ("ok", "has no complete cnc.dat")


def test_a_damaged_driver_is_unknown(patient, directory):
    directory.mkdir()
    (directory / "cnc.dat").write_bytes(b"\xff" * 8192)

    assert check(patient)[0] == "unknown"


def test_a_driver_that_is_alive_is_good_and_one_that_has_shut_down_too(patient, directory):
    with MediaDriver({"aeron_dir": directory, **SMALL}, invoker=True) as driver:
        driver.do_work()
        health, found = check(patient)
        assert health == "ok"
        assert "alive" in found

    assert check(patient) == ("ok", "the driver has shut down")
