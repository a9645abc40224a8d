"""Look-up of an agent's semaphore by other processes."""

from __future__ import annotations

import os

from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.concurrent.wake_up import find_semaphore, semaphore_name


def test_the_name_depends_on_the_resolved_directory(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    assert semaphore_name(tmp_path / "link", "conductor") == semaphore_name(tmp_path, "conductor")


def test_each_agent_and_directory_has_its_own_name(tmp_path):
    names = {semaphore_name(tmp_path / directory, agent) for directory in "ab" for agent in ("x", "y")}
    assert len(names) == 4


def test_an_agent_that_waits_is_found(tmp_path):
    made = NamedSemaphore(semaphore_name(tmp_path, "conductor"), create=True)
    try:
        assert find_semaphore(tmp_path, "conductor").name == made.name
    finally:
        made.unlink()


def test_a_semaphore_that_another_user_has_prepared_is_not_used(tmp_path, monkeypatch):
    made = NamedSemaphore(semaphore_name(tmp_path, "conductor"), create=True)
    uid, stat = os.geteuid(), os.stat
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    try:
        assert find_semaphore(tmp_path, "conductor") is not None  # the owner of the directory
        owner = os.stat_result((*stat(tmp_path)[:4], uid + 1, *stat(tmp_path)[5:]))
        monkeypatch.setattr(os, "stat", lambda path, **options: owner)
        assert find_semaphore(tmp_path, "conductor") is None
    finally:
        monkeypatch.undo()
        made.unlink()


def test_an_agent_without_a_semaphore_is_not_found(tmp_path):
    assert find_semaphore(tmp_path, "conductor") is None
