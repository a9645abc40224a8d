"""Unknown keys of channels are accepted, as by the reference, and reported in the error log."""

from dataclasses import replace

import pytest
from aeron_media.udp.parameters import UdpParameters
from aeron_media.udp.transport import UdpTransport

from aeron_core.driver.conductor.unknown_keys import MAX_ENTRIES, MAX_KEYS_OF_CHANNEL
from aeron_core.spi import hookimpl

UDP = "aeron:udp?endpoint=127.0.0.1:20121"
MISSPELT = "(0) unknown channel key mtuu: did you mean mtu?"


def entries(driver):
    return [(record.text, record.observation_count) for record in driver.errors()]


def add_publication(lone):
    lone.add_publication(f"{UDP}|mtuu=1408", 1)


def add_exclusive_publication(lone):
    lone.add_exclusive_publication("aeron:ipc?mtuu=1408", 1)


def add_subscription(lone):
    lone.add_subscription(f"{UDP}|mtuu=1408", 1)


def add_spy(lone):
    lone.add_subscription(f"aeron-spy:{UDP}|mtuu=1408", 1)


def add_send_destination(lone):
    publication = lone.add_publication("aeron:udp?control-mode=manual", 1)
    lone.result(publication.add_destination_async(f"{UDP}|mtuu=1408"))


def add_receive_destination(lone):
    subscription = lone.add_subscription("aeron:udp?control-mode=manual", 1)
    lone.result(subscription.add_destination_async(f"{UDP}|mtuu=1408"))


@pytest.mark.parametrize(
    "add",
    [
        add_publication,
        add_exclusive_publication,
        add_subscription,
        add_spy,
        add_send_destination,
        add_receive_destination,
    ],
)
def test_an_unknown_key_is_reported_and_not_counted_as_an_error(lone, add):
    add(lone)

    assert entries(lone.driver) == [(MISSPELT, 1)]
    assert lone.driver.counted("errors") == 0


def test_a_known_key_is_not_reported(lone):
    lone.add_publication(f"{UDP}|mtu=1408|alias=x|stream-id=1|tags=1,2", 1)
    lone.add_subscription(f"aeron-spy:{UDP}|gtag=1|cc=static", 1)

    assert entries(lone.driver) == []


def test_one_key_of_many_channels_is_one_entry(lone):
    for port in range(20121, 20131):
        lone.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}|mtuu={port}", 1)

    assert entries(lone.driver) == [(MISSPELT, 10)]


def test_a_removal_reports_nothing(lone):
    subscription = lone.add_subscription("aeron:udp?control-mode=manual", 1)
    lone.result(subscription.add_destination_async(f"{UDP}|mtuu=1408"))
    lone.result(subscription.remove_destination_async(f"{UDP}|mtuu=1408"))

    assert entries(lone.driver) == [(MISSPELT, 1)]


def test_clients_cannot_fill_the_error_log_with_keys(lone):
    for number in range(MAX_ENTRIES):
        query = "|".join(f"k{number}-{each}=x" for each in range(100))
        lone.add_publication(f"aeron:ipc?{query}", number)

    *single, rest = entries(lone.driver)
    assert len(single) == MAX_ENTRIES
    further = MAX_ENTRIES * (MAX_KEYS_OF_CHANNEL - 1)
    assert rest == (f"(0) unknown channel keys: further ones, of which this log keeps {MAX_ENTRIES}", further)


def test_a_medium_with_connections_has_keys_of_its_own(lone):
    lone.add_subscription("aeron:sp?endpoint=127.0.0.1:5555|mode=listen|ploy=true|tls=false", 1)

    assert entries(lone.driver) == [("(0) unknown channel key ploy: did you mean poly?", 1)]


class NamedParameters(UdpParameters):
    name: str | None = None


class Named(UdpTransport):
    """UDP with one more key."""

    parameters = NamedParameters

    def resolve_channel(self, uri, resolve, *, is_publication):
        udp = uri.replace(media="udp").with_params({"name": None})
        return replace(super().resolve_channel(udp, resolve, is_publication=is_publication), uri=uri)


class Broken(Named):
    @property
    def uri_keys(self):
        raise RuntimeError("no keys")


class Media:
    @hookimpl
    def aeron_media_transports(self):
        return {"named": Named, "broken": Broken}


def test_a_medium_of_a_plugin_has_the_keys_of_its_model(start_driver):
    lone = start_driver(plugins=[Media()])

    lone.add_subscription("aeron:named?endpoint=127.0.0.1:20121|name=a|nmae=b", 1)

    assert entries(lone.driver) == [("(0) unknown channel key nmae: did you mean name?", 1)]


def test_a_medium_that_cannot_name_its_keys_is_usable(start_driver):
    lone = start_driver(plugins=[Media()])

    lone.add_subscription("aeron:broken?endpoint=127.0.0.1:20121|name=a", 1)

    text = "(22) Invalid argument: keys of the medium broken: RuntimeError: no keys"
    assert entries(lone.driver) == [(text, 1)]
