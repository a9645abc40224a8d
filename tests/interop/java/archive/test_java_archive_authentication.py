"""The Java client of Aeron Archive at an archive of ours that has users."""

from __future__ import annotations

import pytest
from java_peer import JavaError
from messages import expected_checksum
from served_sites import COUNT, IPC

pytestmark = pytest.mark.interop

JAVA_TO_OURS = "Java client → our archive"
SECRET = "0123456789abcdef"
USERS = f"""
[users.feed]
secret = "{SECRET}"

[users.reader]
secret = "{SECRET}"
allow = ["list", "replay"]
challenge = true
"""


@pytest.fixture
def site(serve, tmp_path):
    """Start an archive of ours with users."""
    users = tmp_path / "users.toml"
    users.touch(0o600)
    users.write_text(USERS)
    return serve("a", None, "--users-file", str(users))


@pytest.mark.compatible("archive of ours, authentication", JAVA_TO_OURS)
@pytest.mark.parametrize("credentials", [f"feed:{SECRET}", "feed"])
def test_a_java_client_is_admitted_by_its_secret_or_a_challenge(site, connect, credentials):
    client = connect(site.directory, IPC, IPC, credentials, SECRET)

    assert client("list") == ""
    assert int(client("start-remote", "aeron:udp?endpoint=127.0.0.1:0", 100)) >= 0


@pytest.mark.compatible("archive of ours, authentication", JAVA_TO_OURS)
@pytest.mark.parametrize(
    "credentials",
    [("", "wrong"), ("feed:wrong", ""), ("feed", "wrong"), ("other", SECRET), (f"reader:{SECRET}", "")],
)
def test_a_java_client_is_rejected(site, connect, credentials):
    with pytest.raises(JavaError, match="ArchiveException: ERROR - authentication rejected") as caught:
        connect(site.directory, IPC, IPC, *credentials)

    assert SECRET not in str(caught.value)


@pytest.mark.compatible("archive of ours, authorisation", JAVA_TO_OURS)
def test_a_java_client_may_send_only_the_requests_of_its_user(site, connect):
    feed = connect(site.directory, IPC, IPC, f"feed:{SECRET}", "")
    feed.simple = feed.java.call("archive-client", site.directory, f"feed:{SECRET}")
    recording_id = feed.record(100)
    client = connect(site.directory, IPC, IPC, "reader", SECRET)

    assert client.replayed(recording_id) == expected_checksum(COUNT)
    for request, permission in ((("start-remote", IPC, 1), "record"), (("purge", recording_id), "change")):
        with pytest.raises(JavaError, match=f"unauthorised action: .* needs the permission {permission}"):
            client(*request)
    assert client("list") != ""
