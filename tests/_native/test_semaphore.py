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


def test_one_that_is_not_there_is_named():
    with pytest.raises(OSError, match="cannot open semaphore /aeron-core-test-nowhere"):
        NamedSemaphore("/aeron-core-test-nowhere")


def test_an_unlinked_name_is_gone_and_unlinking_again_does_nothing():
    made = NamedSemaphore("/aeron-core-test-unlinked", create=True)

    made.unlink()
    made.unlink()

    with pytest.raises(OSError, match="/aeron-core-test-unlinked"):
        NamedSemaphore("/aeron-core-test-unlinked")


def test_who_did_not_make_the_name_leaves_it(semaphore):
    NamedSemaphore(NAME).unlink()

    assert NamedSemaphore(NAME).name == NAME
