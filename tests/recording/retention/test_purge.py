"""Purges of a store that cannot rename folders, as remote ones."""

import pytest

from aeron_core.errors import RecordingError
from aeron_core.recording.retention.purge import finish_purges, purge_recording
from aeron_core.recording.storage.file_store import LocalStore

DAY_NS = 86_400_000_000_000


class RemoteStore(LocalStore):
    """A store without local paths, of which deletions can fail."""

    is_failing = False

    def local_path(self, name):
        return None

    def delete(self, name):
        if self.is_failing and name.endswith(".rec"):
            raise RecordingError("connection lost")
        super().delete(name)

    def delete_folder(self, folder):
        if self.is_failing:
            raise RecordingError("connection lost")
        super().delete_folder(folder)


def test_an_interrupted_purge_of_a_remote_archive_is_finished_by_the_next_one(written):
    written.fill_term()
    written.stop()
    store = RemoteStore(written.store.folder)
    store.is_failing = True
    with pytest.raises(RecordingError):
        purge_recording(store, 0, written.now_ns + DAY_NS)
    assert written.archive.recordings() == []
    store.is_failing = False
    # Of a later upload.
    store.write("0/0-131072.rec", b"new")

    finish_purges(store)

    assert store.names("0") == ["0-131072.rec"]
    assert not [name for name in store.names() if name.startswith(".purged-")]
