"""Endpoints of a compiled medium, and channels of a compiled protector, are of this SPI version, or are refused."""

import aeron_media.udp.receive_endpoint
import aeron_media.udp.send_endpoint
import aeron_security._native.sealing
import pytest
from aeron_media.udp.transport import UdpTransport
from aeron_security.group_secret import GroupSecretProtector
from aeron_security.key_files import write_secret

from aeron_core.errors import RegistrationError
from aeron_core.spi import hookimpl
from aeron_core.testing import DriverPair

CHANNEL = "aeron:strange?endpoint=10.0.0.2:20121"
DESTINATIONS = "aeron:strange?control-mode=manual"
SEALED = "aeron:udp?endpoint=10.0.0.2:20121|security=orders"
REFUSED = (
    r"plugin 'Strange' of distribution '\(registered by hand\)' was built for SPI version 0, this aeron-core has 1: "
    r"rebuild it"
)


class StrangeTransport(UdpTransport):
    """A medium in plain Python whose endpoints are compiled, unless its URI has the key `no-endpoint`."""

    def open_send_endpoint(self, params):
        return super().open_send_endpoint(params) if "no-endpoint" not in params.channel.uri else object()


class Strange:
    @hookimpl
    def aeron_media_transports(self):
        return {"strange": StrangeTransport}

    @hookimpl
    def aeron_datagram_protectors(self):
        return {"strange": GroupSecretProtector}


@pytest.fixture
def pair(tmp_path):
    secret = tmp_path / "secret"
    write_secret(secret)
    profiles = {"orders": {"protector": "strange", "secret_file": str(secret)}}
    with DriverPair(tmp_path, plugins=[Strange()], security_profiles=profiles) as made:
        yield made


def test_endpoints_of_this_version_carry_a_stream(pair):
    subscription = pair.add_subscription(CHANNEL, 1)
    publication = pair.add_publication(CHANNEL, 1)

    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    assert publication.offer(b"message") > 0
    received: list[bytes] = []
    pair.run_until(lambda: received.extend(subscription.poll_many()) or received)
    assert received == [b"message"]


def test_a_send_endpoint_of_another_version_is_refused(pair, monkeypatch):
    monkeypatch.setattr(aeron_media.udp.send_endpoint, "AERON_CORE_SPI_VERSION", 0)

    with pytest.raises(RegistrationError, match=REFUSED):
        pair.add_publication(CHANNEL, 1)


def test_a_receive_endpoint_of_another_version_is_refused(pair, monkeypatch):
    monkeypatch.setattr(aeron_media.udp.receive_endpoint, "AERON_CORE_SPI_VERSION", 0)

    with pytest.raises(RegistrationError, match=REFUSED):
        pair.add_subscription(CHANNEL, 1)


def test_a_receive_destination_of_another_version_is_refused(pair, monkeypatch):
    subscription = pair.add_subscription(DESTINATIONS, 1)
    monkeypatch.setattr(aeron_media.udp.receive_endpoint, "AERON_CORE_SPI_VERSION", 0)

    with pytest.raises(RegistrationError, match=REFUSED):
        pair.result(subscription.add_destination_async(CHANNEL))


def test_a_compiled_endpoint_whose_module_has_no_version_is_refused(pair, monkeypatch):
    monkeypatch.delattr(aeron_media.udp.send_endpoint, "AERON_CORE_SPI_VERSION")

    with pytest.raises(
        RegistrationError, match=r"compiled class, .*UdpSendEndpoint, and no AERON_CORE_SPI_VERSION"
    ):
        pair.add_publication(CHANNEL, 1)


def test_what_is_no_endpoint_is_refused(pair):
    with pytest.raises(
        RegistrationError,
        match=r"medium 'strange' of .* returned <object .*>: must be a SendChannelEndpoint; repair",
    ):
        pair.add_publication(f"{CHANNEL}|no-endpoint=true", 1)


@pytest.mark.parametrize("add", ["add_publication", "add_subscription"])
def test_a_datagram_channel_of_another_version_is_refused(pair, monkeypatch, add):
    monkeypatch.setattr(aeron_security._native.sealing, "AERON_CORE_SPI_VERSION", 0)

    with pytest.raises(RegistrationError, match=REFUSED):
        getattr(pair, add)(SEALED, 1)
