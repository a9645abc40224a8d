"""The folder of a real Aeron Archive that was killed, for tests that need no Java; see archive_scenario.record_all."""

import struct
import tarfile
from pathlib import Path

_PACKED = Path(__file__).parents[2] / "vectors" / "archive" / "recordings.tar.xz"
_HEADER_LENGTH = 32
_ALIGNMENT = 64


def unpack(folder: Path) -> Path:
    """Write the files into `folder`, and return it."""
    with tarfile.open(_PACKED) as packed:
        # Python has the argument from 3.11.4 on.
        packed.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder


def entry_offsets(folder: Path) -> list[int]:
    """Return the offsets of the entries in the catalogue."""
    data = (folder / "archive.catalog").read_bytes()
    offsets, at = [], _HEADER_LENGTH
    while length := struct.unpack_from("<i", data, at)[0]:
        offsets.append(at)
        at += -(-(length + _HEADER_LENGTH) // _ALIGNMENT) * _ALIGNMENT
    return offsets


def overwrite(folder: Path, offset: int, data: bytes) -> None:
    """Replace bytes of the catalogue."""
    with (folder / "archive.catalog").open("r+b") as file:
        file.seek(offset)
        file.write(data)


def name_driver(folder: Path, path: str) -> None:
    """Set the directory of the driver in the mark file, the last of four texts."""
    data = (folder / "archive-mark.dat").read_bytes()
    at = 136
    for _ in range(3):
        at += 4 + int.from_bytes(data[at : at + 4], "little")
    text = len(path).to_bytes(4, "little") + path.encode()
    (folder / "archive-mark.dat").write_bytes(data[:at] + text + data[at + len(text) :])
