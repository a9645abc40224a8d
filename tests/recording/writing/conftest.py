"""Pairs of drivers with a recorder, and the errors of recovery."""

import pytest
from recorded_pair import RecordedPair


@pytest.fixture
def make_pair(tmp_path):
    pairs = []

    def make(**arguments):
        pairs.append(RecordedPair(tmp_path, **arguments))
        return pairs[-1]

    yield make
    for pair in pairs:
        if pair.recorder:
            pair.recorder.on_close()
        pair.close()


@pytest.fixture
def pair(make_pair):
    return make_pair()


@pytest.fixture
def reported():
    """Errors that recovery reports."""
    return []
