"""Directory of a driver, from the environment alone.

Not here: other settings. Command-line tools that need only the directory do not import those modules.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping
from pathlib import Path


def default_aeron_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the user's own directory, `aeron-<user>`: in /dev/shm on Linux, else in TMPDIR or /tmp.

    `environ` is os.environ if it is None.

    Source: aeron_fileutil.c, aeron_default_path.
    """
    environ = os.environ if environ is None else environ
    name = f"aeron-{environ.get('USER') or _name_of_user()}"
    if sys.platform.startswith("linux"):
        return Path("/dev/shm", name)
    return Path(environ.get("TMPDIR") or "/tmp", name)


def aeron_dir_of(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory in AERON_DIR, or the default, as `load_client_settings` does without files."""
    environ = os.environ if environ is None else environ
    text = environ.get("AERON_DIR", "").strip()
    return Path(text) if text else default_aeron_dir(environ)


def unread_aeron_dir(aeron_dir: Path) -> str:
    """Return AERON_DIR if it is set and another one than `aeron_dir`, else an empty text."""
    text = os.environ.get("AERON_DIR", "").strip()
    return text if text and Path(text) != aeron_dir else ""


def _name_of_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name or "default"
    except KeyError:
        return "default"
