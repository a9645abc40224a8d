"""Look-up of the semaphore that an agent of a driver waits for, from any process.

Only agents with the idle strategy `signal` have one. If there is none, no wake-up is needed.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from aeron_core._native.semaphore import NamedSemaphore

CONDUCTOR: Final = "conductor"
"""The agent that executes the commands of clients; some threading modes run others in the same thread."""


def semaphore_name(aeron_dir: Path | str, agent: str) -> str:
    """Return the name shared by driver and clients of one directory, "/…", below 64 characters."""
    directory = os.path.realpath(aeron_dir)
    digest = hashlib.blake2b(os.fsencode(directory), digest_size=8).hexdigest()
    return f"/aeron-core-{digest}-{agent}"


def find_semaphore(aeron_dir: Path | str, agent: str) -> NamedSemaphore | None:
    """Return the semaphore of `agent`, or None if it has none or this user may not post it."""
    try:
        return NamedSemaphore(semaphore_name(aeron_dir, agent))
    except OSError:
        return None
