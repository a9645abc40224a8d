"""The real C client as another user than our driver."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from messages import expected_checksum

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start processes of other users"),
]

PEERS = Path(__file__).parent / "peers"
COUNT = 2000
#: Users and a group without files of their own.
USER, OTHER_USER, GROUP = 65534, 65533, 65532


@pytest.fixture
def client(start, foreign_python, our_driver, aeron_dirs):
    def start_client(user, group, *arguments):
        return start(foreign_python, PEERS / "as_user.py", user, group, *arguments)

    return start_client


def driver_of(our_driver, aeron_dirs, **environment):
    directory = aeron_dirs()
    # Its parent belongs to the test.
    directory.parent.chmod(0o755)
    return our_driver(directory, **environment)


@pytest.mark.parametrize("channel", ["aeron:ipc", "udp"])
def test_real_clients_of_the_group_work_with_our_driver(client, our_driver, aeron_dirs, udp_channel, channel):
    directory = driver_of(our_driver, aeron_dirs, AERON_CORE_DIR_GROUP="daemon")
    channel = udp_channel if channel == "udp" else channel

    receiving = client(USER, 1, "receive", directory, channel, 1001, COUNT)
    receiving.await_line("ready")
    sending = client(OTHER_USER, 1, "send", directory, channel, 1001, COUNT)

    assert sending.result() == {"sent": COUNT}
    assert receiving.result() == {"received": COUNT, "checksum": expected_checksum(COUNT)}


@pytest.mark.parametrize(
    ("group", "environment"),
    [(1, {}), (GROUP, {"AERON_CORE_DIR_GROUP": "daemon"})],
    ids=["without a group", "not in the group"],
)
def test_real_clients_of_other_users_have_no_access(client, our_driver, aeron_dirs, group, environment):
    directory = driver_of(our_driver, aeron_dirs, **environment)

    refused = client(USER, group, "watch", directory, "aeron:ipc", 1001)

    assert refused.process.wait(60) != 0
    refused._reader.join(10)
    assert not any(line.startswith("ready") for line in refused.lines)
