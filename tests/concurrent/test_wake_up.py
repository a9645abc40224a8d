"""Look-up of the bell and the semaphore of an agent by other processes, and pipes of event loops."""

from __future__ import annotations

import os
import select
import stat
import subprocess
import sys

import pytest

from aeron_core._native.park import PIPES
from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.concurrent.wake_up import (
    Bells,
    DriverBells,
    find_semaphore,
    semaphore_name,
    sweep_semaphores,
)
from aeron_core.file_access import PRIVATE, FileAccess


def test_a_client_finds_the_bells_of_the_agents_that_have_one(tmp_path):
    Bells(tmp_path, PRIVATE).add(["sender"])

    bells = DriverBells(tmp_path, 7)

    assert bells.of("sender") is not None
    assert bells.of("conductor") is None


def test_a_driver_without_bells_has_none(tmp_path):
    assert DriverBells(tmp_path, 7).of("sender") is None


def test_a_driver_recognizes_the_clients_that_ring(tmp_path):
    made = Bells(tmp_path, PRIVATE)
    made.add(["sender"])
    DriverBells(tmp_path, 7)

    assert made.is_rung_by(7)
    assert not made.is_rung_by(8)


def test_a_client_that_connects_before_the_sender_has_a_bell_does_not_ring(tmp_path):
    made = Bells(tmp_path, PRIVATE)
    made.add(["conductor"])

    DriverBells(tmp_path, 7)

    assert not made.is_rung_by(7)


def test_a_client_that_cannot_open_a_bell_does_not_ring(tmp_path):
    made = Bells(tmp_path, PRIVATE)
    made.add(["sender"])
    (tmp_path / "bells" / "0").unlink()
    (tmp_path / "bells" / "0").write_bytes(b"")

    assert DriverBells(tmp_path, 7).of("sender") is None
    assert not made.is_rung_by(7)


def is_readable(pipe):
    return bool(select.select([pipe.fd], [], [], 0)[0])


def test_a_message_of_an_awaited_stream_makes_the_pipes_of_its_loops_readable_once(tmp_path):
    stream = Bells(tmp_path, PRIVATE).of_stream(5)
    clients = [DriverBells(tmp_path, client_id) for client_id in (7, 8, 9)]
    pipes = [bells.claim_pipe() for bells in clients]
    for bells, pipe in list(zip(clients, pipes, strict=True))[:2]:
        assert bells.streams.arm(5, pipe.number)
        assert not bells.streams.arm(5, pipe.number)

    stream.signal()

    assert [is_readable(pipe) for pipe in pipes] == [True, True, False]
    assert not clients[0].streams.is_armed(5, pipes[0].number)
    pipes[0].drain()
    stream.signal()
    assert not is_readable(pipes[0])


def test_a_message_of_another_stream_does_not_ring(tmp_path):
    made, bells = Bells(tmp_path, PRIVATE), DriverBells(tmp_path, 7)
    pipe = bells.claim_pipe()
    bells.streams.arm(5, pipe.number)

    for stream in (-1, 0, 4, 6, 2**40):
        made.of_stream(stream).signal()

    assert not is_readable(pipe)
    assert bells.streams.is_armed(5, pipe.number)


def test_each_loop_has_its_own_pipe_until_none_is_free(tmp_path):
    made = Bells(tmp_path, PRIVATE)
    first, second = DriverBells(tmp_path, 7), DriverBells(tmp_path, 8)

    pipes = [first.claim_pipe() for _ in range(PIPES)]

    assert [pipe.number for pipe in pipes] == list(range(PIPES))
    assert second.claim_pipe() is None
    pipes[3].close()
    assert second.claim_pipe().number == 3
    # The driver forgets a client that was killed.
    made.forget(7)
    assert second.claim_pipe().number == 0


def test_a_ring_for_an_earlier_client_is_not_one_for_the_next_client_of_its_pipe(tmp_path):
    made, bells = Bells(tmp_path, PRIVATE), DriverBells(tmp_path, 7)
    pipe = bells.claim_pipe()
    bells.streams.arm(5, pipe.number)
    stream = made.of_stream(5)
    stream.signal()
    pipe.close()

    assert not is_readable(DriverBells(tmp_path, 8).claim_pipe())


def test_a_forked_child_that_drops_its_copy_of_a_pipe_does_not_free_it(tmp_path, monkeypatch):
    made, bells = Bells(tmp_path, PRIVATE), DriverBells(tmp_path, 7)
    pipe = bells.claim_pipe()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    pipe.close()
    monkeypatch.undo()

    assert bells.claim_pipe().number == 1
    made.forget(7)


@pytest.mark.parametrize("mode", [0o700, 0o770])
def test_a_pipe_has_the_mode_of_the_other_files(tmp_path, mode):
    Bells(tmp_path, FileAccess(mode))
    pipe = DriverBells(tmp_path, 7).claim_pipe()

    assert stat.S_IMODE(os.fstat(pipe.fd).st_mode) == mode & 0o666


@pytest.mark.parametrize("is_link", [False, True])
def test_nothing_is_written_to_a_file_that_is_no_pipe(tmp_path, is_link):
    made, bells = Bells(tmp_path, PRIVATE), DriverBells(tmp_path, 7)
    pipe = bells.claim_pipe()
    bells.streams.arm(5, pipe.number)
    path, other = tmp_path / "bells" / f"c{pipe.number}", tmp_path / "other"
    path.unlink()
    other.write_bytes(b"")
    if is_link:
        path.symlink_to(other)
    else:
        os.link(other, path)

    made.of_stream(5).signal()

    assert other.read_bytes() == b""
    pipe.close()
    assert DriverBells(tmp_path, 8).claim_pipe().number == 1


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


@pytest.mark.system
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
    # Of this process: other tests sweep their own names at the same time.
    path = b"/dev/shm/sem.aeron-core-test-%d-\xff" % os.getpid()
    with open(path, "wb"):
        pass
    try:
        assert sweep_semaphores(f"aeron-core-test-{os.getpid()}-*", min_age_s=0) == []
        assert os.path.exists(path)
    finally:
        os.unlink(path)
