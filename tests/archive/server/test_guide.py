"""The examples of the guide: a program that serves an archive, and users with what they may do."""

from __future__ import annotations

import contextlib
import re
import threading
import tomllib
from pathlib import Path

import pytest
from served_archives import TIMEOUT_S, await_true, connect, record

from aeron_core.archive import AeronArchive
from aeron_core.archive.server.authentication import users_of
from aeron_core.errors import ArchiveRefusedError

GUIDE = Path(__file__).parents[3] / "docs/how-to/serve-an-archive.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_a_user_of_the_guide_answers_the_challenge(serve, aeron):
    (users,) = blocks("toml")
    made = users_of(tomllib.loads(users), "FILE")
    serve(authenticator=made.authenticate, authorisation=made.authorise)
    client = blocks("python")[0]
    for channel in re.findall(r'"(aeron:udp[^"]*)"', client):
        client = client.replace(channel, "aeron:ipc")
    names = {"aeron": aeron, "AeronArchive": AeronArchive}

    exec(client, names)

    assert names["archive"].list_recordings() == []
    with pytest.raises(
        ArchiveRefusedError, match="needs the permission record; user spark has: list, replay"
    ):
        names["archive"].start_recording("aeron:ipc", 1)


def test_the_program_of_the_guide_serves_an_archive(driver, aeron, tmp_path, free_port, monkeypatch):
    monkeypatch.setenv("AERON_DIR", str(driver.aeron_dir))
    program = blocks("python")[1]
    program = program.replace("/data/archive", str(tmp_path / "archive"))
    program = program.replace("localhost:8010", f"localhost:{free_port()}")
    ends = threading.Event()

    def on_idle():
        if ends.wait(0.001):
            raise KeyboardInterrupt

    def run():
        with contextlib.suppress(KeyboardInterrupt):
            exec(program.replace("time.sleep(0.001)", "on_idle()"), {"on_idle": on_idle})

    thread = threading.Thread(target=run)
    thread.start()
    try:
        await_true((tmp_path / "archive" / "archive-mark.dat").exists, "the archive")
        archive = connect(aeron)
        recording_id = record(archive)

        assert archive.list_recording(recording_id).stop_position > 0
    finally:
        ends.set()
        thread.join(TIMEOUT_S)
    assert not thread.is_alive()
