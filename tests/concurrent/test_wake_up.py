"""Look-up of an agent's semaphore by other processes."""

from __future__ import annotations

import os
import subprocess
import sys

from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.concurrent.wake_up import find_semaphore, semaphore_name, sweep_semaphores


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


def test_semaphores_of_killed_drivers_are_swept_and_those_in_use_are_kept(tmp_path):
    (tmp_path / "running").mkdir()
    killed = semaphore_name(tmp_path / "killed", "conductor")
    made = NamedSemaphore(semaphore_name(tmp_path / "running", "conductor"), create=True)
    subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, signal\nfrom aeron_core._native.semaphore import NamedSemaphore\n"
            f"made = NamedSemaphore({killed!r}, create=True)\nos.kill(os.getpid(), signal.SIGKILL)",
        ],
        check=False,
    )
    try:
        # It may belong to a driver that starts.
        assert sweep_semaphores(killed[1:]) == []

        assert sweep_semaphores(killed[1:], min_age_s=0) == [killed]
        assert sweep_semaphores(made.name[1:], min_age_s=0) == []
        assert find_semaphore(tmp_path / "running", "conductor") is not None
    finally:
        made.unlink()


def test_files_with_names_that_are_not_text_are_skipped_by_the_sweep():
    path = b"/dev/shm/sem.aeron-core-test-\xff"
    with open(path, "wb"):
        pass
    try:
        assert sweep_semaphores("aeron-core-test-*", min_age_s=0) == []
        assert os.path.exists(path)
    finally:
        os.unlink(path)
