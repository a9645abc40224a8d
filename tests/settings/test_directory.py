from pathlib import Path

import pytest

from aeron_core.settings import default_aeron_dir, directory


def test_directory_is_named_after_the_user_in_shared_memory_on_linux(monkeypatch):
    monkeypatch.setattr(directory.sys, "platform", "linux")

    assert default_aeron_dir({"USER": "someone"}) == Path("/dev/shm/aeron-someone")


@pytest.mark.parametrize(("environ", "parent"), [({}, "/tmp"), ({"TMPDIR": "/var/tmp"}, "/var/tmp")])
def test_directory_is_temporary_elsewhere(monkeypatch, environ, parent):
    monkeypatch.setattr(directory.sys, "platform", "darwin")

    assert default_aeron_dir({"USER": "someone", **environ}) == Path(parent, "aeron-someone")


def test_user_is_looked_up_where_the_environment_does_not_say(monkeypatch):
    monkeypatch.setattr(directory, "_name_of_user", lambda: "looked-up")

    assert default_aeron_dir({}).name == "aeron-looked-up"


def test_user_without_a_name_is_called_default(monkeypatch):
    def no_such_user(_uid):
        raise KeyError

    monkeypatch.setattr(directory.pwd, "getpwuid", no_such_user)

    assert default_aeron_dir({}).name == "aeron-default"
