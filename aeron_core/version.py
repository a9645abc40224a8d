"""Version and commit of this package, and their forms in shared memory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: Distribution of this package and of the plugins that are built with it.
DISTRIBUTION: Final = "aeron-core"
VERSION: Final = "0.1.0"


def _read_commit() -> str:
    """Return the commit of the build, at least ten hexadecimal digits; `unknown` if none was recorded.

    It ends with `+guilty` if files differed from the commit.
    """
    try:
        return Path(__file__).with_name("commit.txt").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


#: The commit of this package, `unknown` if it was not built from a repository or a distribution.
COMMIT: Final = _read_commit()

#: Used in counter labels for the version and commit of the driver, in the form of the reference.
SOFTWARE_VERSION: Final = f"version={VERSION} commit={COMMIT}"


def software_version_number() -> int:
    """Return the version packed as major << 16 | minor << 8 | patch."""
    major, minor, patch = (int(part) for part in VERSION.split("."))
    return major << 16 | minor << 8 | patch
