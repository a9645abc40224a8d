"""Where the page may be served, with which token and certificate; and the options of the command."""

import os
import socket
import ssl
import sys

import pytest
import trustme

from aeron_core.cli.dashboard.access import access_of
from aeron_core.errors import ConfigurationError, StorageError
from aeron_core.metrics.access import MAX_TOKEN_LENGTH

TOKEN = "0123456789abcdef"


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    issued = trustme.CA().issue_cert("localhost")
    issued.private_key_and_cert_chain_pem.write_to_path(folder / "both.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    return folder


@pytest.mark.parametrize("listen", ["127.0.0.1:8900", "127.0.0.2:0", "localhost:80", "[::1]:8900"])
def test_loopback_needs_no_token(listen):
    access = access_of(listen, None, None, None)

    assert access.token == ""
    assert {"127.0.0.1", "localhost", "[::1]", listen.rpartition(":")[0]} == access.hosts | {"127.0.0.1"}


@pytest.mark.parametrize(
    "listen", ["0.0.0.0:8900", "[::]:8900", "10.0.0.1:8900", "localhost.example:8900", "example:1"]
)
def test_another_address_is_refused_without_a_token(listen, token_file):
    with pytest.raises(ConfigurationError, match="--token-file must name a file with a token"):
        access_of(listen, None, None, None)

    access = access_of(listen, token_file, None, None)
    assert (access.token, access.hosts) == (TOKEN, frozenset())


@pytest.mark.parametrize("listen", ["", "8900", "127.0.0.1", "127.0.0.1:65536", "::1:8900"])
def test_a_malformed_address_is_refused(listen):
    with pytest.raises(ConfigurationError, match=r"--listen=.*must be host:port"):
        access_of(listen, None, None, None)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o644])
def test_a_token_that_others_can_read_or_write_is_refused(token_file, mode):
    token_file.chmod(mode)

    with pytest.raises(ConfigurationError, match=f"mode {mode:o}, .*readable by no other; chmod 600 it"):
        access_of("127.0.0.1:8900", token_file, None, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_of_another_user_is_refused(token_file):
    os.chown(token_file, 12345, -1)

    with pytest.raises(ConfigurationError, match="of user 12345: must belong to user 0"):
        access_of("127.0.0.1:8900", token_file, None, None)


@pytest.mark.parametrize(
    "text", ["", "short", "x" * (MAX_TOKEN_LENGTH + 1), "a" * 16 + "\nb", "ü" * 20, "a\0" * 10]
)
def test_what_is_no_token_is_refused(token_file, text):
    token_file.write_text(text, encoding="utf-8")

    with pytest.raises(
        ConfigurationError, match="must have one line of 16 to 1024 printable ASCII characters"
    ):
        access_of("127.0.0.1:8900", token_file, None, None)


def test_a_pipe_or_a_missing_file_is_no_token(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)

    with pytest.raises(ConfigurationError, match="must be a regular file"):
        access_of("127.0.0.1:8900", tmp_path / "pipe", None, None)
    with pytest.raises(StorageError, match=r"cannot read --token-file=.*: No such file"):
        access_of("127.0.0.1:8900", tmp_path / "missing", None, None)


def test_a_certificate_and_its_key_are_in_one_file_or_in_two(certificate):
    for cert, key in (("both.pem", None), ("cert.pem", "key.pem")):
        context = access_of("127.0.0.1:0", None, certificate / cert, key and certificate / key).tls

        assert context.minimum_version is ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("cert", "key"), [("cert.pem", None), ("missing", None), ("key.pem", "key.pem"), ("cert.pem", "missing")]
)
def test_files_that_are_no_certificate_with_its_key_are_refused(certificate, cert, key):
    with pytest.raises(ConfigurationError, match=f"--tls-cert=.*{cert}.*must be PEM files"):
        access_of("127.0.0.1:0", None, certificate / cert, key and certificate / key)


def test_a_key_without_a_certificate_is_refused(certificate):
    with pytest.raises(ConfigurationError, match=r"--tls-key=.*must be given with --tls-cert"):
        access_of("127.0.0.1:0", None, None, certificate / "key.pem")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--listen", "0.0.0.0:8900"], "--token-file must name a file"),
        (["--interval", "0"], "--interval=0"),
        (["h.arrows", "-d", "/x"], "only one of them is allowed"),
        (["h.arrows", "--from", "http://h/"], "only one of them is allowed"),
        (["--from", "ftp://h/"], "must be the URL of a dashboard"),
        (["--from-ca", "/x"], "must be given with --from"),
    ],
)
def test_wrong_options_are_usage_errors(aeron, arguments, reason):
    pytest.importorskip("nicegui")

    outcome = aeron("dashboard", *arguments)

    assert outcome.code == 2
    assert reason in outcome.err


def test_without_nicegui_the_extra_is_named(aeron, monkeypatch):
    monkeypatch.setitem(sys.modules, "nicegui", None)

    outcome = aeron("dashboard")

    assert outcome.code == 2
    assert "pip install 'aeron-core[dashboard]'" in outcome.err


def test_a_token_without_tls_is_warned_of(aeron, token_file):
    pytest.importorskip("nicegui")
    with socket.create_server(("0.0.0.0", 0)) as taken:
        address = f"0.0.0.0:{taken.getsockname()[1]}"

        outcome = aeron("dashboard", "--listen", address, "--token-file", token_file)

    assert "warning: without --tls-cert, the token and all values are readable on the network" in outcome.err


def test_an_address_in_use_is_refused(aeron):
    pytest.importorskip("nicegui")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        outcome = aeron("dashboard", "--listen", address)

    assert outcome.code == 1
    assert f"cannot listen on {address}: Address already in use; choose another address" in outcome.err


def test_the_authorities_of_a_url_with_a_capital_scheme_are_used(aeron, tmp_path):
    pytest.importorskip("nicegui")
    missing = tmp_path / "ca.pem"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        outcome = aeron("dashboard", "--listen", address, "--from", "HTTPS://h/", "--from-ca", missing)

    assert outcome.code == 2
    assert f"--from-ca={missing}: No such file or directory" in outcome.err
