"""The folder of a real Aeron Archive that was killed, for tests that need no Java; see archive_scenario.record_all."""

import tarfile
from pathlib import Path

_PACKED = Path(__file__).parents[2] / "vectors" / "archive" / "recordings.tar.xz"


def unpack(folder: Path) -> Path:
    """Write the files into `folder`, and return it."""
    with tarfile.open(_PACKED) as packed:
        packed.extractall(folder, filter="data")
    return folder
