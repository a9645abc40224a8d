"""Foreign programs are built by one process at a time."""

import fcntl

import pytest
from peer_programs import alone, make_once


def test_two_processes_do_not_build_the_same_folder_at_once(tmp_path):
    with alone(tmp_path / "it"), (tmp_path / "it.lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / "it.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_folder_is_built_again_only_if_its_content_changes(tmp_path):
    folder = tmp_path / "kept" / "it"
    made = []

    def make():
        folder.mkdir(exist_ok=True)
        made.append(folder)

    for content in ("one", "one", "two"):
        make_once(folder, content, make)

    assert len(made) == 2
