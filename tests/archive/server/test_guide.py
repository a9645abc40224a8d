"""The program of the guide: does it serve an archive?"""

from __future__ import annotations

import contextlib
import re
import threading
from pathlib import Path

from served_archives import TIMEOUT_S, await_true, connect, record

GUIDE = Path(__file__).parents[3] / "docs/how-to/serve-an-archive.md"


def test_the_program_of_the_guide_serves_an_archive(driver, aeron, tmp_path, free_port, monkeypatch):
    monkeypatch.setenv("AERON_DIR", str(driver.aeron_dir))
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
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
