"""Commands on a terminal."""

import os
import pty
import subprocess
import sys


def shown_on_a_terminal(*arguments, stream="stdout", **environment):
    """Run a command whose standard output, or else `stream`, is a terminal; return what it wrote there."""
    leader, follower = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    process = subprocess.Popen(
        [sys.executable, "-m", "aeron_core", *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: follower},
        stdin=subprocess.DEVNULL,
        env=plain | {"TERM": "xterm", "COLUMNS": "80"} | environment,
    )
    os.close(follower)
    parts = []
    try:
        while part := os.read(leader, 65536):
            parts.append(part)
    except OSError:  # the last writer has closed the terminal
        pass
    finally:
        os.close(leader)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors or b"") == (0, b"")
    return b"".join(parts).decode().replace("\r\n", "\n")
