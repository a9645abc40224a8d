"""Foreign peers over TLS: writers with and without a certificate, readers that require one or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
#: Client authentication of our reader, and the certificate of the peer.
CASES = [("none", None), ("optional", None), ("optional", "client"), ("required", "client")]


def environment(certificates, shown):
    """Return the environment of a peer."""
    pair = getattr(certificates, shown) if shown else ()
    names = dict(zip(("LUMBERJACK_CERT", "LUMBERJACK_KEY"), pair, strict=False))
    return {"LUMBERJACK_CA": certificates.ca, **names}


def keys(certificates, auth):
    cert, key = certificates.server
    # Without client authentication nothing is verified by a ca=, which is refused.
    ca = "" if auth == "none" else f"|ca={certificates.ca}"
    return f"|tls=true|cert={cert}|key={key}{ca}|client-auth={auth}"


@pytest.fixture
def command(request, peers_python):
    """Return the command of a writer, for a port and a number of events."""

    def of(name, port, count):
        writers = PEERS / "writers.py"
        if name in ("pylogbeat", "timbersnake"):
            return [peers_python, writers, name, port, count, 3 if name == "timbersnake" else 50]
        if name == "python-logstash-async":
            return [peers_python, writers, "logstash_async", port, count]
        if name == "go-lumber":
            address = f"127.0.0.1:{port}"
            return [request.getfixturevalue("golumber"), "send", address, "async", 3, 50, count]
        modules = request.getfixturevalue("node_peers")
        if name == "lumberjack-client":
            return ["node", PEERS / "lumberjack_client.js", modules / name, port, count]
        kind = {"lumberjack-protocol": "protocol", "bunyan-lumberjack": "bunyan"}[name]
        return ["node", "--no-deprecation", PEERS / "version_1.js", modules, kind, port, count, 50]

    return of


WRITERS = [
    "pylogbeat",
    "python-logstash-async",
    "timbersnake",
    "go-lumber",
    "lumberjack-client",
    "lumberjack-protocol",
    "bunyan-lumberjack",
]


@pytest.mark.parametrize(("auth", "shown"), CASES)
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.compatible("Lumberjack over TLS", "{name} → our driver → our client")
def test_events_of_a_writer_arrive_over_tls(
    reading, start, output_of, certificates, command, name, auth, shown
):
    reader, count = reading(keys(certificates, auth)), 230 if name == "python-logstash-async" else 300
    peer = start(*command(name, reader.port, count), **environment(certificates, shown))

    payloads = list(map(json.loads, reader.take(count)))

    sent = list(map(json.loads, output_of(peer)["payloads"]))
    if name in ("lumberjack-protocol", "bunyan-lumberjack"):
        # All values become strings; a missing host is added.
        texts = [{key: str(value) for key, value in event.items()} for event in sent]
        assert [
            {key: event[key] for key in text} for event, text in zip(payloads, texts, strict=True)
        ] == texts
    else:
        assert payloads == sent
    assert reader.errors() == []


@pytest.mark.parametrize("shown", [None, "strange_client"])
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.compatible("Lumberjack over TLS", "{name} → our driver → our client")
def test_a_writer_without_the_required_certificate_is_refused(
    reading, start, certificates, command, name, shown
):
    reader = reading(keys(certificates, "required"))
    start(*command(name, reader.port, 10), **environment(certificates, shown))

    reader.until(lambda: reader.counted("rejects-tls-certificate") >= 1)

    assert reader.counted("accepted") == 0
    assert any("certificate" in error for error in reader.errors())


EVENTS = [json.dumps({"n": n, "message": "<é & 🦀>" * (n % 23)}, ensure_ascii=False) for n in range(2000)]


@pytest.mark.parametrize("auth", [None, "client"])
@pytest.mark.compatible("Lumberjack over TLS", "our client → our driver → go-lumber")
def test_go_lumber_receives(writing, start, output_of, golumber, certificates, auth):
    names = environment(certificates, "server") | ({"LUMBERJACK_AUTH": "required"} if auth else {})
    peer = start(golumber, "receive", len(EVENTS), "3s", "0s", **names)
    peer.await_line("listening ")
    (line,) = [line for line in peer.lines if line.startswith("listening ")]
    identity = "|cert={}|key={}".format(*certificates.client) if auth else ""
    writer = writing(line.split()[1], f"|tls=true|ca={certificates.ca}{identity}")

    writer.send([event.encode() for event in EVENTS])

    assert output_of(peer)["payloads"] == EVENTS
    assert writer.errors() == []


@pytest.mark.compatible("Lumberjack over TLS", "our client → our driver → go-lumber")
def test_missing_client_certificate_for_go_lumber_is_reported(writing, start, golumber, certificates):
    names = environment(certificates, "server") | {"LUMBERJACK_AUTH": "required"}
    peer = start(golumber, "receive", 1, "3s", "0s", **names)
    peer.await_line("listening ")
    (line,) = [line for line in peer.lines if line.startswith("listening ")]
    writer = writing(line.split()[1], f"|tls=true|ca={certificates.ca}")

    writer.until(lambda: writer.counted("writer-rejects-tls-refused") >= 1)

    writer.until(lambda: any("requires a certificate" in error for error in writer.errors()))
    (error,) = [error for error in writer.errors() if "requires a certificate" in error]
    assert line.split()[1] in error
