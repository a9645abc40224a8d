import errno
from pathlib import Path

import posix_ipc
import pytest

from aeron_core._native.semaphore import NamedSemaphore

NAME = "/aeron-core-test-semaphore"


@pytest.fixture
def semaphore():
    made = NamedSemaphore(NAME, create=True)
    yield made
    made.unlink()


def test_a_semaphore_is_found_by_its_name(semaphore):
    assert NamedSemaphore(NAME).name == NAME


def test_the_error_for_a_missing_semaphore_names_it():
    with pytest.raises(OSError, match="cannot open semaphore /aeron-core-test-nowhere"):
        NamedSemaphore("/aeron-core-test-nowhere")


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("end", ["\0", "\udc80"])
def test_a_name_that_is_not_text_is_refused(end, create):
    with pytest.raises(
        OSError, match="must be text without NUL and without bytes that are not UTF-8"
    ) as caught:
        NamedSemaphore(f"/aeron-core-test{end}", create=create)

    assert caught.value.errno == errno.EINVAL


def test_an_unlinked_name_is_removed_and_a_second_unlink_does_nothing():
    made = NamedSemaphore("/aeron-core-test-unlinked", create=True)

    made.unlink()
    made.unlink()

    with pytest.raises(OSError, match="/aeron-core-test-unlinked"):
        NamedSemaphore("/aeron-core-test-unlinked")


def test_a_name_that_another_process_has_removed_may_be_unlinked():
    made = NamedSemaphore("/aeron-core-test-unlinked", create=True)
    posix_ipc.unlink_semaphore("/aeron-core-test-unlinked")

    made.unlink()

    with pytest.raises(OSError, match="/aeron-core-test-unlinked"):
        NamedSemaphore("/aeron-core-test-unlinked")


@pytest.mark.parametrize(
    ("raised", "error"),
    [(posix_ipc.ExistentialError, FileExistsError), (posix_ipc.PermissionsError, PermissionError)],
)
def test_a_semaphore_that_cannot_be_created_is_an_os_error(monkeypatch, raised, error):
    def refuse(*arguments, **options):
        raise raised("for some reason")

    # As if another process created the name in between.
    monkeypatch.setattr(posix_ipc, "Semaphore", refuse)

    with pytest.raises(error, match="cannot create semaphore /aeron-core-test-raced: "):
        NamedSemaphore("/aeron-core-test-raced", create=True)


def test_a_process_that_did_not_create_the_name_does_not_unlink_it(semaphore):
    NamedSemaphore(NAME).unlink()

    assert NamedSemaphore(NAME).name == NAME


def test_a_semaphore_that_exists_is_replaced_and_not_reused(semaphore):
    path = Path(f"/dev/shm/sem.{NAME[1:]}")
    before = path.stat().st_ino

    second = NamedSemaphore(NAME, create=True)

    assert path.stat().st_ino != before
    second.unlink()
    NamedSemaphore(NAME, create=True)  # the fixture unlinks it
