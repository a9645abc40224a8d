import pytest
from observed import heartbeat

from aeron_core.observation.clients import clients_of


def client(label_end, value=1000, epoch_ms=1500):
    (found,) = clients_of([heartbeat(7, label_end, value)], epoch_ms).values()
    return found


@pytest.mark.parametrize(
    ("label_end", "name", "version", "pid"),
    [
        ("", "", "", None),
        (" name=app version=1.48.0 commit=abc", "app", "1.48.0", None),
        (" name= version=0.1.0 commit=unknown pid=12", "", "0.1.0", 12),
        (" name=two parts version=1 commit=a pid=12", "two parts", "1", 12),
        (" name=cut version=0.1", "cut", "0.1", None),
        (" name=only", "only", "", None),
        (" name=\x1b\n version=1 commit=a pid=12345678901", "\x1b\n version=1 commit=a pid=12345678901", "", None),
        (" nonsense", "", "", None),
    ],
)  # fmt: skip
def test_name_version_and_process_are_those_in_the_label(label_end, name, version, pid):
    found = client(label_end)

    assert (found.id, found.name, found.version, found.pid) == (7, name, version, pid)


def test_the_age_of_a_heartbeat_is_never_negative_and_unknown_before_the_first():
    assert client("").heartbeat_age_ms == 500
    assert client("", value=1501).heartbeat_age_ms == 0
    assert client("", value=0).heartbeat_age_ms is None


def test_a_client_is_described_by_its_process_if_it_has_stored_it():
    assert client(" name=app version=1 commit=a pid=12").description == "process 12 (app)"
    assert client(" name=app version=1 commit=a").description == "client 7 (app)"
    assert client("").description == "client 7"
