"""Files of real drivers, read once for all tests of this folder."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from aeron_core._native.buffer import AtomicBuffer

VECTORS = Path(__file__).parents[1] / "vectors" / "shm"


@pytest.fixture(scope="session")
def recorded_cnc() -> dict[str, Any]:
    """Return the expected contents of the recorded cnc.dat."""
    return json.loads((VECTORS / "01-fixture.json").read_text())["cnc"]


@pytest.fixture(scope="session")
def recorded_commands() -> dict[str, Any]:
    """Return commands of real clients and the responses of a real driver."""
    return json.loads((VECTORS / "01-commands.json").read_text())


@pytest.fixture(scope="session")
def cnc_bytes() -> bytes:
    """Return the complete recorded cnc.dat."""
    return gzip.decompress((VECTORS / "01-cnc.dat.gz").read_bytes())


@pytest.fixture
def cnc_section(recorded_cnc, cnc_bytes):
    """Return a function that copies one section of the recorded cnc.dat."""

    def copy(name: str) -> AtomicBuffer:
        section = recorded_cnc["meta"]["sections"][name]
        return AtomicBuffer(bytearray(cnc_bytes[section["offset"] :][: section["length"]]))

    return copy
