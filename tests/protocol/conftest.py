"""Bytes of real drivers, for tests of all codecs."""

import json
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[1] / "vectors"


@pytest.fixture(scope="session")
def datagrams():
    """Return every captured datagram once."""
    scenarios = [json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))]
    return sorted(
        {bytes.fromhex(datagram["hex"]) for scenario in scenarios for datagram in scenario["datagrams"]}
    )


@pytest.fixture(scope="session")
def steps():
    """Return commands of clients and responses of a driver, step by step."""
    return json.loads((VECTORS / "shm" / "01-commands.json").read_text())["steps"]
