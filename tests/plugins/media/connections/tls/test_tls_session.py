"""TLS sessions without sockets."""

from __future__ import annotations

import ctypes
import ctypes.util
import ssl

import pytest
import trustme
from aeron_media.connections.relay.session import SessionError
from aeron_media.connections.tls.session import MAX_UNREAD_LENGTH, TlsSession

_KEY_UPDATE_REQUESTED = 1


class KeyUpdater:
    """An OpenSSL client that requests key updates, which the `ssl` module cannot do."""

    def __init__(self):
        name = ctypes.util.find_library("ssl")
        if name is None:
            pytest.skip("needs libssl to simulate the peer")
        self._library = library = ctypes.CDLL(name)
        for function in ("TLS_client_method", "SSL_CTX_new", "SSL_new", "BIO_s_mem", "BIO_new"):
            getattr(library, function).restype = ctypes.c_void_p
        context = self._pointer("SSL_CTX_new", self._pointer("TLS_client_method"))
        self._ssl = self._pointer("SSL_new", context)
        self._incoming, self._outgoing = (
            self._pointer("BIO_new", self._pointer("BIO_s_mem")) for _ in range(2)
        )
        library.SSL_set_bio(self._ssl, self._incoming, self._outgoing)
        library.SSL_set_connect_state(self._ssl)
        self._buffer = ctypes.create_string_buffer(1 << 16)

    def _pointer(self, function, *args):
        return ctypes.c_void_p(getattr(self._library, function)(*args))

    def shake(self, data=b""):
        """Feed bytes of the other end and return the reply."""
        self._library.BIO_write(self._incoming, data, len(data))
        self._library.SSL_do_handshake(self._ssl)
        length = self._library.BIO_read(self._outgoing, self._buffer, len(self._buffer))
        return self._buffer.raw[: max(length, 0)]

    def ask(self):
        assert self._library.SSL_key_update(self._ssl, _KEY_UPDATE_REQUESTED) == 1
        return self.shake()


@pytest.fixture
def server():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    return TlsSession(context, server_side=True)


def shaken(server):
    client = KeyUpdater()
    server.feed(client.shake())
    while not server.do_handshake():
        server.feed(client.shake(server.take_outgoing()))
    assert server.read(1) is None
    return client


def test_a_peer_that_sends_requests_without_reading_replies_is_refused(server):
    client = shaken(server)

    def ask_without_end():
        for _ in range(MAX_UNREAD_LENGTH):
            server.feed(client.ask())
            server.read(1)

    with pytest.raises(SessionError, match="sends TLS requests without reading the replies"):
        ask_without_end()
    assert len(server.take_outgoing()) < MAX_UNREAD_LENGTH + 100


def test_unusual_alerts_share_a_text_and_their_names_are_the_detail():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found = {}
    for code in (20, 22, 50, 51, 71, 80, 90):
        client = TlsSession(context, server_side=False, server_name="localhost")
        assert not client.do_handshake()
        client.feed(b"\x15\3\3\0\2\2" + bytes([code]))
        with pytest.raises(SessionError) as caught:
            client.do_handshake()
        found[caught.value.detail] = str(caught.value)

    assert len(found) == 7
    assert "tlsv1 alert internal error" in found
    assert set(found.values()) == {
        "the peer ended TLS with an alert, which the event log has: check the log of the peer"
    }


def test_a_peer_that_reads_replies_may_send_any_number_of_requests(server):
    client = shaken(server)

    for _ in range(20_000):
        server.feed(client.ask())
        assert server.read(1) is None
        client.shake(server.take_outgoing())
