"""Finding the semaphore that an agent of a driver waits for, from any process.

Only agents with the idle strategy `signal` have one. Whoever finds none need not wake anybody.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from aeron_core._native.semaphore import NamedSemaphore

CONDUCTOR: Final = "conductor"
"""The agent that takes the commands of clients; in some threading modes it has others beside it."""


def semaphore_name(aeron_dir: Path | str, agent: str) -> str:
    """Return the name that driver and clients of one directory agree on, "/…", below 64 characters."""
    directory = os.path.realpath(aeron_dir)
    digest = hashlib.blake2b(os.fsencode(directory), digest_size=8).hexdigest()
    return f"/aeron-core-{digest}-{agent}"


def find_semaphore(aeron_dir: Path | str, agent: str) -> NamedSemaphore | None:
    """Return what `agent` waits for, None where it waits for nothing or this user may not wake it."""
    try:
        return NamedSemaphore(semaphore_name(aeron_dir, agent))
    except OSError:
        return None
