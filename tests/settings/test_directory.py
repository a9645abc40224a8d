from pathlib import Path

import pytest

from aeron_core.settings import aeron_dir
from aeron_core.settings.aeron_dir import aeron_dir_of, default_aeron_dir
from aeron_core.settings.loader import load_client_settings


def test_directory_is_named_after_the_user_in_shared_memory_on_linux(monkeypatch):
    monkeypatch.setattr(aeron_dir.sys, "platform", "linux")

    assert default_aeron_dir({"USER": "someone"}) == Path("/dev/shm/aeron-someone")


@pytest.mark.parametrize(("environ", "parent"), [({}, "/tmp"), ({"TMPDIR": "/var/tmp"}, "/var/tmp")])
def test_directory_is_temporary_elsewhere(monkeypatch, environ, parent):
    monkeypatch.setattr(aeron_dir.sys, "platform", "darwin")

    assert default_aeron_dir({"USER": "someone", **environ}) == Path(parent, "aeron-someone")


def test_user_is_looked_up_if_the_environment_has_none(monkeypatch):
    monkeypatch.setattr(aeron_dir, "_name_of_user", lambda: "looked-up")

    assert default_aeron_dir({}).name == "aeron-looked-up"


def test_user_without_a_name_is_called_default(monkeypatch):
    def no_such_user(_uid):
        raise KeyError

    monkeypatch.setattr(aeron_dir.pwd, "getpwuid", no_such_user)

    assert default_aeron_dir({}).name == "aeron-default"


@pytest.mark.parametrize(
    "environ",
    [
        {"USER": "someone"},
        {"USER": "someone", "AERON_DIR": "/mine"},
        {"USER": "someone", "AERON_DIR": " /mine "},
        {"USER": "someone", "AERON_DIR": "  "},
    ],
)
def test_directory_read_without_the_models_is_that_of_the_client_settings(environ):
    assert aeron_dir_of(environ) == load_client_settings(environ=environ).settings.aeron_dir
