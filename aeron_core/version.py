"""Version of this package, also as shown in shared memory."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"

#: Used in counter labels for the version and commit of the driver.
SOFTWARE_VERSION: Final = f"version={VERSION} commit=aeron-core"


def software_version_number() -> int:
    """Return the version packed as major << 16 | minor << 8 | patch."""
    major, minor, patch = (int(part) for part in VERSION.split("."))
    return major << 16 | minor << 8 | patch
