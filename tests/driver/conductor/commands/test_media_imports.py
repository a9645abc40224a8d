"""The modules of a medium are imported by helper threads, while the conductor executes other commands."""

import json
import subprocess
import sys

import pytest

from aeron_core.errors import RegistrationError
from aeron_core.spi.hookspecs import hookimpl

LATER = "aeron:later?endpoint=127.0.0.1:20121"
#: The medium `udp` under another name, in a module that nothing has imported.
MEDIUM = "from aeron_media.udp.transport import UdpTransport as Transport\n"


class Later:
    """A plugin whose medium is in a module of its own."""

    @hookimpl
    def aeron_media_transports(self):
        return {"later": "later_medium:Transport"}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The file of the module, which is not imported before the test and after it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "later_medium", raising=False)
    path = tmp_path / "later_medium.py"
    path.write_text(MEDIUM, encoding="utf-8")
    yield path
    sys.modules.pop("later_medium", None)


@pytest.fixture
def held(start_driver):
    """A driver that keeps the work of helper threads in a list until the test runs it."""
    lone = start_driver(plugins=[Later()])
    lone.helpers = []
    lone.start_lookup = lone.helpers.append
    return lone


@pytest.mark.usefixtures("module")
def test_commands_of_other_clients_do_not_wait_for_the_import_of_a_medium(held):
    first = held.client.add_subscription_async(LATER, 1)
    held.run_until(lambda: held.helpers)
    other = held.driver.connect()

    counter = held.result(other.add_counter_async(1101, b"", "other"))

    assert counter.label == "other"
    assert not first.is_done
    held.helpers.pop()()
    assert held.result(first).channel == LATER
    assert held.helpers == []


@pytest.mark.usefixtures("module")
def test_two_clients_wait_for_one_import(held):
    other = held.driver.connect()
    waiting = [client.add_subscription_async(LATER, 1) for client in (held.client, other)]
    held.run_until(lambda: held.helpers)
    held.run_for(10_000_000)

    (helper,) = held.helpers
    helper()

    assert [held.result(each).channel for each in waiting] == [LATER, LATER]


@pytest.mark.usefixtures("module")
def test_later_commands_of_the_client_keep_their_order(held):
    registrations = [
        held.client.add_subscription_async(LATER, 1),
        held.client.add_counter_async(1101, b"", "mine"),
    ]
    held.run_until(lambda: held.helpers)
    held.run_for(10_000_000)
    assert not any(each.is_done for each in registrations)

    held.helpers.pop()()

    assert [type(held.result(each)).__name__ for each in registrations] == ["Subscription", "Counter"]


def test_a_medium_that_cannot_be_imported_refuses_the_command(module, held):
    module.write_text("raise ValueError('broken')", encoding="utf-8")
    registration = held.client.add_subscription_async(LATER, 1)
    held.run_until(lambda: held.helpers)

    held.helpers.pop()()

    with pytest.raises(
        RegistrationError, match=r"medium 'later' of .* cannot be imported .*: ValueError: broken"
    ):
        held.result(registration)


@pytest.mark.usefixtures("module")
def test_a_client_that_ends_meanwhile_is_forgotten(held):
    other = held.driver.connect()
    other.add_subscription_async(LATER, 1)
    held.run_until(lambda: held.helpers)

    other.close()
    held.run_for(20_000_000_000)
    held.helpers.pop()()
    held.run_for(10_000_000)

    assert held.result(held.client.add_subscription_async(LATER, 1)).channel == LATER


PROGRAM = """
import json, sys, tempfile, threading
import aeron_core

class Finder:
    def find_spec(self, name, path=None, target=None):
        threads.setdefault(name, threading.current_thread().name)

threads = {}
sys.meta_path.insert(0, Finder())
with (
    aeron_core.MediaDriver.launch({"aeron_dir": sys.argv[1]}) as driver,
    aeron_core.connect(driver.aeron_dir) as aeron,
):
    aeron.add_subscription("aeron:lumberjack?endpoint=127.0.0.1:0", 1)
    aeron.add_subscription("aeron:sp?endpoint=127.0.0.1:0|mode=listen", 1)
print(json.dumps(threads))
"""


@pytest.mark.system
def test_the_conductor_imports_no_medium(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "driver")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 0, ended.stderr
    threads = {
        name: thread
        for name, thread in json.loads(ended.stdout).items()
        if name.startswith("aeron_media.sp.")
    }
    assert "aeron_media.sp.transport" in threads
    assert {thread for name, thread in threads.items() if not name.endswith(".plugin")} == {"aeron-resolver"}
