"""Addresses at which metrics are served, and when a token is required."""

from __future__ import annotations

import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.metrics.access import checked_access
from aeron_core.uri.addresses import HostPort

TOKEN = "0123456789abcdef"


@pytest.fixture
def token_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("address", ["127.0.0.1:9464", "localhost:9464", "[::1]:9464", "127.5.5.5:0"])
def test_loopback_needs_no_token(address):
    access = checked_access(address, None, is_open=False)

    assert str(access.address) == address
    assert access.token == ""


@pytest.mark.parametrize("address", ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464", "monitor:9464"])
def test_an_address_that_other_hosts_reach_needs_a_token_or_its_waiver(address, token_file):
    with pytest.raises(ConfigurationError, match="so --metrics-token-file must name a file with a token; or"):
        checked_access(address, None, is_open=False)

    assert checked_access(address, token_file, is_open=False).token == TOKEN
    assert checked_access(address, None, is_open=True).token == ""


def test_a_token_may_protect_loopback_from_other_users(token_file):
    access = checked_access("127.0.0.1:0", token_file, is_open=False)

    assert (access.address, access.token) == (HostPort("127.0.0.1", 0), TOKEN)


def test_a_token_and_its_waiver_contradict_each_other(token_file):
    with pytest.raises(ConfigurationError, match="--metrics-open: contradicts --metrics-token-file="):
        checked_access("0.0.0.0:0", token_file, is_open=True)


def test_a_token_that_others_can_read_is_refused(token_file):
    token_file.chmod(0o640)

    with pytest.raises(ConfigurationError, match=r"--metrics-token-file=.*: mode 640"):
        checked_access("0.0.0.0:0", token_file, is_open=False)


@pytest.mark.parametrize("is_open", [False, True])
def test_options_of_metrics_without_an_address_are_refused(token_file, is_open):
    with pytest.raises(ConfigurationError, match="must be given with --metrics"):
        checked_access(None, None if is_open else token_file, is_open=is_open)


def test_without_metrics_there_is_no_access():
    assert checked_access(None, None, is_open=False) is None
