"""Places that `pyarrow.fs` reaches."""

import os
import time

import pytest

from aeron_core.recording.file_store import ArrowStore

HOUR_S = 3600


@pytest.fixture
def store(tmp_path):
    pytest.importorskip("pyarrow.fs")
    return ArrowStore(tmp_path.as_uri())


def write(tmp_path, data, time_s):
    (tmp_path / "x").write_bytes(data)
    os.utime(tmp_path / "x", (time_s, time_s))


def test_a_file_that_is_replaced_within_a_second_by_one_of_its_size_is_another(store, tmp_path):
    now_s = int(time.time())
    write(tmp_path, b"one", now_s)
    before = store.version("x")

    write(tmp_path, b"two", now_s)

    assert store.version("x") != before


def test_a_file_that_has_not_changed_for_long_is_not_read_to_know_that(store, tmp_path, monkeypatch):
    write(tmp_path, b"one", int(time.time()) - HOUR_S)
    monkeypatch.setattr(store, "read", None)

    assert store.version("x") == store.version("x") is not None


def test_a_file_that_is_not_there_has_no_version(store):
    assert store.version("x") is None
