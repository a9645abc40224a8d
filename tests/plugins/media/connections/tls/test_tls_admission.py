"""Which peers a listener over TLS admits, and which servers a connection accepts: certificates, names, versions."""

from __future__ import annotations

import errno
import shutil
import ssl

import pytest
from relayed_ends import failure, fault, receive, wait_for
from tls_ends import dial, identity

from aeron_core.testing.connection_probe import accept

# Columns: client-auth of the listener, certificate of the client, whether the client is admitted.
LET_IN = [
    ("none", None, True),
    ("none", "client", True),
    ("none", "strange_client", True),
    ("optional", None, True),
    ("optional", "client", True),
    ("optional", "strange_client", False),
    ("required", None, False),
    ("required", "client", True),
    ("required", "strange_client", False),
    (None, None, False),
]


@pytest.mark.parametrize(("client_auth", "shown", "is_let_in"), LET_IN)
def test_a_listener_admits_peers_according_to_client_auth(
    endpoints, certificates, python_context, client_auth, shown, is_let_in
):
    auth = {"client-auth": client_auth} if client_auth else {}
    network, listener = endpoints.listen(**identity(certificates.server), ca=certificates.ca, **auth)
    shown = getattr(certificates, shown) if shown else None
    with dial(listener, python_context(client=shown)) as client:
        if is_let_in:
            client.sendall(b"window")
            assert receive(endpoints.taken(listener), 6) == b"window"
        else:
            with pytest.raises(OSError, match=r"(?i)alert|reset|broken"):
                client.recv(1)
            assert "certificate" in fault(network).reason
            assert accept(listener) is None


@pytest.mark.parametrize(
    ("verify", "server", "ca", "text"),
    [
        ("full", "server", "ca", None),
        ("full", "elsewhere", "ca", "IP address mismatch"),
        ("full", "server", "other_ca", "unable to get local issuer certificate"),
        (None, "elsewhere", "ca", "IP address mismatch"),
        ("certificate", "elsewhere", "ca", None),
        ("certificate", "server", "other_ca", "unable to get local issuer certificate"),
        ("none", "elsewhere", "other_ca", None),
    ],
)
def test_a_connection_verifies_the_server_as_configured(endpoints, certificates, verify, server, ca, text):
    _, listener = endpoints.listen(**identity(getattr(certificates, server)))
    network, caller = endpoints.caller(ca=getattr(certificates, ca), **({"verify": verify} if verify else {}))
    caller.connect(listener.local_address())
    if text is None:
        wait_for(caller.is_connected)
    else:
        assert failure(caller.is_connected) == errno.EPROTO
        found = fault(network)
        assert text in found.reason
        assert found.source == str(listener.local_address())


def test_the_host_name_is_verified_instead_of_its_address(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.elsewhere))
    _, caller = endpoints.caller(server_name="elsewhere.example", ca=certificates.ca)
    caller.connect(listener.local_address())

    assert wait_for(caller.is_connected)


def test_mutual_tls_admits_a_connection_with_a_certificate(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server), ca=certificates.ca)
    _, caller = endpoints.caller(**identity(certificates.client), ca=certificates.ca)
    caller.connect(listener.local_address())
    wait_for(caller.is_connected)
    caller.send(b"window")
    assert receive(endpoints.taken(listener), 6) == b"window"


def test_a_connection_without_the_required_certificate_fails_with_the_reason(endpoints, certificates):
    _, listener = endpoints.listen(**identity(certificates.server), ca=certificates.ca)
    network, caller = endpoints.caller(ca=certificates.ca)
    caller.connect(listener.local_address())
    wait_for(caller.is_connected)
    assert failure(caller.receive) == errno.ECONNRESET
    assert fault(network).reason == "the peer requires a certificate: set cert= and key="


def test_a_renewed_certificate_is_used_without_a_restart(endpoints, certificates, python_context, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "cert.key"
    for source, target in zip(certificates.server, (cert, key), strict=True):
        shutil.copy(source, target)
    _, listener = endpoints.listen(cert=str(cert), key=str(key))
    with dial(listener, python_context()) as before:
        for source, target in zip(certificates.renewed, (cert, key), strict=True):
            shutil.copy(source, target)
        with dial(listener, python_context()) as after:
            names = [dict(each.getpeercert()["subjectAltName"]).get("DNS") for each in (before, after)]
    assert names == ["localhost", "renewed.example"]


def test_a_half_renewed_certificate_leaves_the_previous_one_in_use(
    endpoints, certificates, python_context, tmp_path
):
    cert, key = tmp_path / "cert.pem", tmp_path / "cert.key"
    for source, target in zip(certificates.server, (cert, key), strict=True):
        shutil.copy(source, target)
    network, listener = endpoints.listen(cert=str(cert), key=str(key))
    shutil.copy(certificates.renewed[0], cert)
    for _ in range(2):
        with dial(listener, python_context()) as client:
            assert ("DNS", "localhost") in client.getpeercert()["subjectAltName"]
    assert f"key={key}: is not the private key of the certificate in {cert}" in fault(network).reason
    assert network.take_fault() is None


def test_tls_1_1_is_refused(endpoints, certificates, python_context):
    network, listener = endpoints.listen(**identity(certificates.server))
    context = python_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1 is deprecated"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        dial(listener, context)
    assert fault(network).reason == (
        "the peer offers no TLS 1.2 or later: enable one of these versions at the peer"
    )
