"""Lumberjack over TLS: a driver with threads, real sockets, and Python's `ssl` or another driver as peer."""

from __future__ import annotations

import shutil
import socket
import ssl
import time

import pytest
from plain_codec import ack, json_event, window

from aeron_core import connect
from aeron_core.concurrent.error_log import read_errors
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.errors import RegistrationError
from aeron_core.protocol.cnc import CNC_FILE, CncFile

TIMEOUT_S = 60
HERE = "aeron:lumberjack?endpoint=127.0.0.1"


class Running:
    """A driver with threads, and a client."""

    def __init__(self, directory):
        self.driver = MediaDriver.launch(
            {
                "aeron_dir": directory / "aeron",
                "threading_mode": "DEDICATED",
                "term_buffer_length": "64k",
                "perform_storage_checks": False,
            }
        )
        self.client = connect(self.driver.aeron_dir)
        self.cnc = CncFile.open(self.driver.aeron_dir / CNC_FILE, read_only=True)
        self.received = []

    def close(self):
        self.client.close()
        self.driver.close()

    def until(self, condition):
        deadline = time.monotonic() + TIMEOUT_S
        while not (result := condition()):
            assert time.monotonic() < deadline, f"did not happen within {TIMEOUT_S} s: {self.errors()}"
            time.sleep(0.0005)
        return result

    def listen(self, keys):
        """Subscribe; return the subscription and its port."""
        subscription = self.client.add_subscription(f"{HERE}:0|term-length=64k|tls=true|{keys}", 7)
        return subscription, self.until(self.port)

    def port(self):
        for record in self.client.counters_reader:
            if record.label.startswith("rcv-local-sockaddr"):
                return int(record.label.rpartition(":")[2])
        return None

    def take(self, subscription, count):
        """Return the next messages."""
        self.received.clear()

        def poll():
            subscription.poll(lambda buffer, header: self.received.append(bytes(buffer)), 100)
            return len(self.received) >= count

        self.until(poll)
        return list(self.received)

    def errors(self):
        return [record.line for record in read_errors(self.cnc.error_log)]

    def counts(self, name):
        """Wait until a counter is 1."""
        self.until(
            lambda: (
                [
                    record.value
                    for record in self.client.counters_reader
                    if record.label.startswith(f"lumberjack-{name}: ")
                ]
                == [1]
            )
        )

    def await_error(self, *words):
        """Wait for an error that contains all of `words`."""
        self.until(lambda: any(all(word in text for word in words) for text in self.errors()))


@pytest.fixture
def running(tmp_path):
    made = Running(tmp_path)
    yield made
    made.close()


@pytest.fixture
def files(certificates):
    """URI parameters of a subscription, and of a publication with a certificate."""
    pairs = {
        name: f"cert={cert}|key={key}"
        for name, (cert, key) in (("server", certificates.server), ("client", certificates.client))
    }
    trusting = {name: f"{pair}|ca={certificates.ca}" for name, pair in pairs.items()}
    return {**trusting, "any client": f"{pairs['server']}|client-auth=none"}


def dial(port, context):
    return context.wrap_socket(
        socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S),
        server_hostname="127.0.0.1",
        suppress_ragged_eofs=False,
    )


def receive_exactly(client, length):
    data = b""
    while len(data) < length:
        data += client.recv(length - len(data))
    return data


@pytest.mark.parametrize("shown", [None, "client"])
def test_windows_of_a_python_writer_are_events_and_are_acknowledged(
    running, files, certificates, python_context, shown
):
    subscription, port = running.listen(
        files["any client"] if shown is None else f"{files['server']}|client-auth=required"
    )
    with dial(port, python_context(client=certificates.client if shown else None)) as client:
        client.sendall(window(2) + json_event(1, b'{"n":1}') + json_event(2, b'{"n":2}'))
        assert running.take(subscription, 2) == [b'{"n":1}', b'{"n":2}']
        assert receive_exactly(client, 6) == ack(2)
    assert running.errors() == []


@pytest.mark.parametrize("auth", ["none", "required"])
def test_a_publication_reaches_a_subscription(running, files, certificates, auth):
    subscription, port = running.listen(
        files["any client"] if auth == "none" else f"{files['server']}|client-auth=required"
    )
    identity = files["client"] if auth == "required" else f"ca={certificates.ca}"
    publication = running.client.add_exclusive_publication(f"{HERE}:{port}|tls=true|{identity}", 9)
    publication.await_connected(timeout=TIMEOUT_S)
    sent = [b'{"n":%d}' % number for number in range(3000)]
    waiting = iter(sent)
    message = next(waiting)
    received = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(received) < len(sent):
        assert time.monotonic() < deadline, running.errors()
        if message is not None and publication.offer(message) > 0:
            message = next(waiting, None)
        subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 100)
    assert received == sent
    assert running.errors() == []


def test_a_publication_that_cannot_verify_its_reader_reports_why(running, files, certificates):
    _, port = running.listen(files["any client"])
    publication = running.client.add_publication(f"{HERE}:{port}|tls=true|ca={certificates.other_ca}", 9)
    running.await_error("the certificate of the peer was rejected", str(port))
    running.until(
        lambda: any(
            record.value > 0
            for record in running.client.counters_reader
            if record.label.startswith("lumberjack-writer-rejects-tls-certificate: ")
        )
    )
    assert not publication.is_connected


def test_a_writer_without_a_required_certificate_is_reported(running, files, python_context):
    _, port = running.listen(files["server"])
    with dial(port, python_context()) as client:
        with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
            client.recv(1)
        running.await_error("the peer sent no certificate", f"127.0.0.1:{client.getsockname()[1]}")
    running.counts("rejects-tls-certificate")


def test_a_writer_without_tls_is_reported(running, files):
    subscription, port = running.listen(files["server"])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(window(1) + json_event(1, b'{"n":1}'))
        running.await_error("the peer does not speak TLS")
    running.counts("rejects-tls-protocol")
    assert subscription.images == ()


def test_a_writer_that_closes_during_the_handshake_is_counted(running, files):
    subscription, port = running.listen(files["server"])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"\x16\x03\x01")
    running.await_error("closed the connection during the TLS handshake")
    running.counts("rejects-tls-other")
    assert subscription.images == ()


def test_a_closed_subscription_resets_its_connections(running, files, python_context):
    subscription, port = running.listen(files["any client"])
    with dial(port, python_context()) as client:
        client.sendall(window(2) + json_event(1, b"{}"))
        running.take(subscription, 1)
        subscription.close()
        # An orderly close would look intended by the reader.
        with pytest.raises(OSError, match=r"(?i)reset|eof"):
            client.recv(1)


def test_a_writer_that_rejects_the_certificate_is_counted(running, files, certificates):
    _, port = running.listen(files["server"])
    with pytest.raises(ssl.SSLCertVerificationError):
        dial(port, ssl.create_default_context(cafile=certificates.other_ca))
    running.counts("rejects-tls-refused")


def test_a_driver_uses_a_renewed_certificate(running, certificates, python_context, tmp_path):
    def install(pair):
        for source, target in zip(pair, ("cert.pem", "cert.key"), strict=True):
            shutil.copy(source, tmp_path / target)

    install(certificates.server)
    subscription, port = running.listen(f"cert={tmp_path}/cert.pem|key={tmp_path}/cert.key")
    for number, pair in enumerate((certificates.server, certificates.renewed)):
        install(pair)
        with dial(port, python_context()) as client:
            client.sendall(window(1) + json_event(1, b'{"n":%d}' % number))
            assert running.take(subscription, 1) == [b'{"n":%d}' % number]
            name = dict(client.getpeercert()["subjectAltName"])["DNS"]
            assert name == ("localhost", "renewed.example")[number]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("cert={directory}/none.pem", "cert={directory}/none.pem in .*: .*No such file"),
        ("cert={server[0]}|key={client[1]}", "key={client[1]} in .*is not the private key"),
        ("cert={server[0]}|key={ca}", "key={ca} in .*must contain a private key"),
        ("cert={server[0]}|key={server[1]}|ca={server[1]}", "ca={server[1]} in .*must contain certificates"),
        (
            "cert={server[0]}|key={locked}",
            "key={locked} in .*give its passphrase with key-passphrase-file= or",
        ),
        ("cert={server[0]}|key={locked}|key-passphrase-file={ca}", "key={locked} in .*wrong passphrase"),
        (
            "cert={server[0]}|key={locked}|key-passphrase-file={latin}",
            "latin1.*must be UTF-8, but the byte at offset 0 is not",
        ),
        (
            "cert={server[0]}|key={locked}|key-passphrase-env=NO_SUCH",
            "key-passphrase-env=NO_SUCH in .*no such",
        ),
        ("key={server[1]}", "no cert in .*must be given"),
        ("cert={server[0]}|verify=full", "verify=full in .*applies only to an end that connects"),
        ("cert={server[0]}|client-auth=required", "client-auth=required in .*requires ca="),
        ("cert={server[0]}|client-auth=maybe", "client-auth=maybe in .*'none', 'optional' or 'required'"),
    ],
)
def test_wrong_tls_parameters_are_refused(running, certificates, tmp_path, keys, text):
    latin = tmp_path / "latin1"
    latin.write_bytes("öffne dich\n".encode("latin-1"))
    names = {**vars(certificates), "locked": certificates.locked, "latin": latin}
    with pytest.raises(RegistrationError, match=text.format(**names)):
        running.client.add_subscription(f"{HERE}:0|tls=true|{keys.format(**names)}", 7)


def test_keys_without_tls_are_refused(running, certificates):
    with pytest.raises(RegistrationError, match=r"cert=.*requires tls=true"):
        running.client.add_subscription(f"{HERE}:0|cert={certificates.server[0]}", 7)


@pytest.mark.parametrize("where", ["file", "env"])
def test_a_pass_phrase_decrypts_the_key(running, certificates, python_context, tmp_path, monkeypatch, where):
    (tmp_path / "phrase").write_text("open sesame\n")
    monkeypatch.setenv("TLS_KEY_PHRASE", "open sesame")
    phrase = {"file": f"key-passphrase-file={tmp_path}/phrase", "env": "key-passphrase-env=TLS_KEY_PHRASE"}
    _, port = running.listen(f"cert={certificates.server[0]}|key={certificates.locked}|{phrase[where]}")
    with dial(port, python_context()) as client:
        assert client.version() in ("TLSv1.2", "TLSv1.3")
