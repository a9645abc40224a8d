"""Peers whose host vanishes, over TCP on loopback."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from types import SimpleNamespace

import pytest
from aeron_media.sp.socket_lease import SharedSocket, SocketLease
from pairing import PAIR1, greeting
from plain_websocket import request
from vanished_hosts import vanish

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.protocol.cnc import CNC_FILE, CncFile

DEADLINE_S = 60


def run_until(driver, condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        if not driver.do_work():
            time.sleep(0.001)


def test_a_peer_that_vanishes_with_unacknowledged_data_is_lost_after_peer_timeout(tmp_path):
    settings = {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        aeron_core.MediaDriver(settings, invoker=True) as driver,
        aeron_core.connect(driver.aeron_dir, driver_invoker=driver.do_work) as client,
    ):
        cnc = CncFile.open(driver.aeron_dir / CNC_FILE)
        host, port = server.getsockname()
        channel = f"aeron:sp?endpoint={host}:{port}|mode=dial|peer-timeout=500ms"
        publication = client.add_publication(channel, 7)
        run_until(driver, lambda: select.select([server], [], [], 0)[0])
        peer, _ = server.accept()
        with peer:
            peer.sendall(greeting(PAIR1))
            run_until(driver, lambda: publication.is_connected)
            vanish(peer)
            publication.offer(b"lost")

            run_until(driver, lambda: not publication.is_connected)
            run_until(driver, lambda: list(read_errors(cnc.error_log)))

        assert [
            error.text.count("nothing arrived from the peer") for error in read_errors(cnc.error_log)
        ] == [1]


@pytest.mark.parametrize("transport", ["tcp", "ws", "tls"])
def test_a_peer_that_vanishes_has_one_entry_with_its_address_whatever_the_transport(
    tmp_path, transport, certificates, python_context
):
    settings = {"aeron_dir": tmp_path / "driver", "counters_buffer_length": "1m"}
    with (
        aeron_core.MediaDriver(settings, invoker=True) as driver,
        aeron_core.connect(driver.aeron_dir, driver_invoker=driver.do_work) as client,
        contextlib.ExitStack() as stack,
    ):
        cnc = CncFile.open(driver.aeron_dir / CNC_FILE)
        certificate, key = certificates.server
        keys = {"tcp": "", "ws": "|transport=ws", "tls": f"|transport=tls|cert={certificate}|key={key}"}
        channel = f"aeron:sp?endpoint=127.0.0.1:0|mode=listen|peer-timeout=500ms{keys[transport]}"
        publication = client.add_publication(channel, 7)
        run_until(driver, publication.local_addresses)
        host, _, port = publication.local_addresses()[0].rpartition(":")
        peer = stack.enter_context(socket.create_connection((host, int(port))))
        if transport == "tls":
            peer = stack.enter_context(python_context().wrap_socket(peer, server_hostname="127.0.0.1"))
        peer.sendall(request() if transport == "ws" else greeting(PAIR1))
        run_until(driver, lambda: publication.is_connected)
        address = "{}:{}".format(*peer.getsockname())
        vanish(peer)
        publication.offer(b"lost")

        run_until(driver, lambda: list(read_errors(cnc.error_log)))
        run_until(driver, lambda: not publication.is_connected)

        (error,) = read_errors(cnc.error_log)
        assert error.text.endswith(
            "nothing arrived from the peer within peer-timeout=: check the peer and the network, or increase it"
        )
        assert error.last_peer == address


class CountedSocket:
    """Stands for a socket and its connections; counts the checks."""

    def __init__(self):
        self.connections = self
        self.timeouts_ms = []

    def end_vanished(self, timeout_ms):
        self.timeouts_ms.append(timeout_ms)

    def close(self):
        pass


def test_one_of_the_endpoints_that_share_a_socket_looks_for_vanished_peers():
    checked = CountedSocket()
    shared = SharedSocket(SimpleNamespace(peer_timeout=1_500_001), checked, None)
    leases = [SocketLease(shared, lambda: None) for _ in range(3)]

    for lease in leases:
        lease.end_vanished()
    assert checked.timeouts_ms == [2]
    leases[0].end()
    for lease in leases:
        lease.end_vanished()
    assert checked.timeouts_ms == [2, 2]
