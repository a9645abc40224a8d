"""Programs of others are made by one process at a time."""

import fcntl

import pytest
from peer_programs import alone, make_once


def test_what_is_made_is_made_alone(tmp_path):
    with alone(tmp_path / "it"), (tmp_path / "it.lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / "it.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_was_made_is_made_again_only_when_it_is_to_be_another(tmp_path):
    folder = tmp_path / "kept" / "it"
    made = []

    def make():
        folder.mkdir(exist_ok=True)
        made.append(folder)

    for content in ("one", "one", "two"):
        make_once(folder, content, make)

    assert len(made) == 2
