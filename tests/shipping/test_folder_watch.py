"""Notifications of the kernel: lines and files are found without the intervals of polling."""

import os
import shutil
import subprocess
import sys

import pytest

from aeron_core.shipping import folder_watch
from aeron_core.shipping.folder_watch import FolderWatch, watched_folders

pytest.importorskip("watchfiles")
pytestmark = pytest.mark.system

MS = 1_000_000


@pytest.fixture
def watched(shipping):
    """Return a function that waits for the next messages while the time of the shipper almost stands still."""

    def messages(count=1):
        before = len(shipping.stream.messages)
        # Polling would read after 1 s of this time, and scan after 10 s; each wait takes up to 0.1 s.
        for _ in range(200):
            if not shipping.shipper.do_work(shipping.now_ns):
                shipping.shipper.wait()
            shipping.stream.confirm()
            shipping.now_ns += MS
            if len(shipping.stream.messages) >= before + count:
                break
        return shipping.stream.messages[before:]

    return messages


def settle(shipping):
    """Run until the folders are watched and everything is read."""
    shipping.shipper.do_work(shipping.now_ns)
    shipping.shipper.wait()
    for _ in range(4):
        shipping.now_ns += 100 * MS
        shipping.shipper.do_work(shipping.now_ns)
    assert shipping.shipper._watch.is_active


def start(shipping, *patterns):
    shipping.start(*patterns)
    settle(shipping)


def test_an_appended_line_is_shipped(shipping, watched):
    shipping.write("one\n")
    start(shipping)

    shipping.write("two\n")

    assert watched() == [b"two"]


def test_a_new_file_is_shipped(shipping, watched):
    start(shipping, "*.log")

    shipping.write("one\n", "new.log")

    assert watched() == [b"one"]


def test_a_rotated_file_and_its_successor_are_shipped(shipping, watched):
    shipping.write("one\n")
    start(shipping)

    shipping.write("two\n")
    shipping.path().rename(shipping.path("app.log.1"))
    shipping.write("three\n")

    assert watched(2) == [b"two", b"three"]
    shipping.write("late\n", "app.log.1")
    assert watched() == [b"late"]


def test_a_truncated_file_is_shipped_from_its_beginning(shipping, watched):
    shipping.write("one\n")
    start(shipping)

    shipping.path().write_bytes(b"")
    shipping.write("2\n")

    assert watched() == [b"2"]


def test_a_file_in_a_new_folder_is_shipped(shipping, watched):
    start(shipping, "*/app.log")

    shipping.path("host").mkdir()
    shipping.write("one\n", "host/app.log")

    assert watched() == [b"one"]
    shipping.write("two\n", "host/app.log")
    assert watched() == [b"two"]


def test_a_folder_that_did_not_exist_at_the_start_is_watched_level_by_level(shipping, watched):
    start(shipping, "var/log/**/*.log")

    shipping.path("var/log/a/b").mkdir(parents=True)
    shipping.write("one\n", "var/log/a/b/app.log")

    assert watched() == [b"one"]


def test_a_folder_that_is_deleted_and_created_again_is_watched_again(shipping, watched):
    shipping.path("logs").mkdir()
    shipping.write("one\n", "logs/app.log")
    start(shipping, "logs/app.log")

    shutil.rmtree(shipping.path("logs"))
    shipping.path("logs").mkdir()
    shipping.write("two\n", "logs/app.log")
    assert watched() == [b"two"]
    shipping.write("three\n", "logs/app.log")

    assert watched() == [b"three"]


def test_a_file_behind_a_link_is_shipped_as_it_grows(shipping, watched):
    shipping.path("elsewhere").mkdir()
    shipping.write("one\n", "elsewhere/data")
    shipping.path("app.log").symlink_to("elsewhere/data")
    start(shipping)

    shipping.write("two\n", "elsewhere/data")

    assert watched() == [b"two"]


def test_a_link_to_another_file_is_followed(shipping, watched):
    for name in ("a", "b"):
        shipping.path(name).mkdir()
        shipping.write(f"{name}\n", f"{name}/data")
    shipping.path("app.log").symlink_to("a/data")
    start(shipping)

    shipping.path("new").symlink_to("b/data")
    shipping.path("new").rename(shipping.path("app.log"))

    assert watched() == [b"b"]
    shipping.write("more\n", "b/data")
    assert watched() == [b"more"]


def test_folders_of_patterns_exist(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()

    def folders(pattern):
        return {os.path.relpath(folder, tmp_path) for folder in watched_folders(str(tmp_path / pattern))}

    assert folders("app.log") == folders("*.log") == folders("missing/app.log") == {"."}
    assert folders("*/app.log") == {".", "a", "c"}
    assert folders("a/*/*.log") == {"a", "a/b"}
    assert folders("**/*.log") == {".", "a", "a/b", "c"}


@pytest.fixture
def polling():
    """Return the reasons for polling that a watch gave."""
    return []


@pytest.fixture
def watch(polling):
    made = FolderWatch(polls=False, on_polling=polling.append)
    yield made
    made.close()


def test_folders_of_a_network_filesystem_are_polled_silently(watch, polling, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_watch, "_NETWORK", (folder_watch._filesystem_of(str(tmp_path)),))

    assert not watch.update(frozenset([str(tmp_path)]))

    assert (watch.is_active, polling) == (False, [])


def test_the_filesystem_of_a_folder_is_that_of_its_deepest_mount():
    assert folder_watch._filesystem_of("/proc/self") == "proc"
    assert folder_watch._filesystem_of("/dev/shm") == "tmpfs"


def test_folders_are_polled_silently_without_the_extra(watch, polling, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)

    assert not watch.update(frozenset([str(tmp_path)]))

    assert (watch.is_active, polling) == (False, [])


def test_folders_are_polled_if_that_is_wanted(polling, tmp_path):
    watch = FolderWatch(polls=True, on_polling=polling.append)

    assert not watch.update(frozenset([str(tmp_path)]))

    assert (watch.is_active, polling) == (False, [])


def test_a_deleted_folder_is_not_watched(watch, polling, tmp_path):
    assert watch.update(frozenset([str(tmp_path), str(tmp_path / "deleted")]))

    assert (watch.is_active, polling) == (True, [])


LIMITED = """
import sys
from pathlib import Path
Path("/proc/sys/user", sys.argv[1]).write_text(sys.argv[2])
from aeron_core.shipping.folder_watch import FolderWatch
watch = FolderWatch(polls=False, on_polling=print)
for count in (1, 3, 3):
    folders = frozenset(sys.argv[3:3 + count])
    print(watch.update(folders), watch.is_active)
"""


@pytest.mark.parametrize(
    ("limit", "value", "states"),
    [
        ("max_inotify_watches", "2", ["True True", "False False", "False False"]),
        ("max_inotify_instances", "0", ["False False"] * 3),
    ],
)
def test_a_limit_of_the_kernel_leads_to_polling_with_one_message(limit, value, states, tmp_path):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()

    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", LIMITED, limit, value, *folders],
        capture_output=True,
        text=True,
        check=False,
    )

    if "unshare failed" in done.stderr:
        pytest.skip("this system allows no user namespaces")
    assert done.returncode == 0, done.stderr
    [message] = [line for line in done.stdout.splitlines() if "folders cannot be watched" in line]
    assert "fs.inotify.max_user_watches" in message
    assert [line for line in done.stdout.splitlines() if line != message] == states
