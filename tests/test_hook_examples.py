"""The example of each hook in docs/reference/hooks.md takes effect when it is registered."""

import importlib.util
import inspect
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import aeron_core
from aeron_core.errors import ChannelUriError, RegistrationError
from aeron_core.registry import Registry
from aeron_core.spi import IdleStrategyParams, hookspecs
from aeron_core.testing import DriverPair
from aeron_core.testing.conformance import (
    CongestionControlConformance,
    DatagramProtectorConformance,
    FlowControlConformance,
    IdleStrategyConformance,
    MediaTransportConformance,
    NameResolverConformance,
)
from aeron_core.uri.channel_uri import ChannelUri

EXAMPLES = Path(__file__).parent.parent / "docs" / "hook_examples"
CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"


def example(hook):
    """Import the example of one hook."""
    spec = importlib.util.spec_from_file_location(f"example_of_{hook}", EXAMPLES / f"{hook}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def only_factory(hook):
    """Return the factory of the one name that an example provides."""
    (factory,) = getattr(example(hook), hook)().values()
    return factory


def sent_and_received(directory, hook, publication_channel, subscription_channel, **settings):
    """Return what a subscriber receives of three messages, with an example registered in both drivers."""
    received = []
    with DriverPair(directory, plugins=[example(hook)], **settings) as pair:
        subscription = pair.add_subscription(subscription_channel, 1001)
        publication = pair.add_publication(publication_channel, 1001)
        pair.run_until(lambda: publication.is_connected and subscription.is_connected)
        for message in (b"one", b"two", b"three"):
            assert publication.offer(message) > 0
        pair.run_until(
            lambda: subscription.poll(lambda buffer, _: received.append(bytes(buffer))) and len(received) == 3
        )
    return received


def test_every_hook_has_an_example():
    hooks = {
        name for name, _ in inspect.getmembers(hookspecs, inspect.isfunction) if name.startswith("aeron_")
    }

    assert {path.stem for path in EXAMPLES.glob("*.py")} == hooks


class TestServiceTransport(MediaTransportConformance):
    channel = "aeron:service?name=orders"
    other_channel = "aeron:service?name=prices"
    wrong_channel = "aeron:service?name=unknown"

    def make(self):
        module = example("aeron_media_transports")
        # The conformance suite runs on one simulated host.
        module.SERVICES = {"orders": "127.0.0.1:20121", "prices": "127.0.0.1:20122"}
        return module.ServiceTransport()


class TestGenerousFlowControl(FlowControlConformance):
    def make(self, params):
        return only_factory("aeron_flow_controls")(params)


class TestAimdCongestionControl(CongestionControlConformance):
    def make(self, params):
        return only_factory("aeron_congestion_controls")(params)


class TestTableNameResolver(NameResolverConformance):
    known_name = "orders:20121"

    def make(self, params):
        resolver = only_factory("aeron_name_resolvers")(params)
        resolver.hosts["orders"] = "10.0.0.2"
        return resolver


class TestSignedDatagrams(DatagramProtectorConformance):
    refuses_replays = False
    encrypts = False

    @pytest.fixture(autouse=True)
    def _secret(self, tmp_path):
        self.options = {"secret_file": tmp_path / "secret"}
        self.options["secret_file"].write_bytes(b"secret")

    def make(self, params):
        return only_factory("aeron_datagram_protectors")(replace(params, options=self.options))


class TestNapIdleStrategy(IdleStrategyConformance):
    def make(self, params):
        return only_factory("aeron_idle_strategies")(params)


@pytest.mark.parametrize(
    ("hook", "publication", "subscription", "settings"),
    [
        ("aeron_media_transports", "aeron:service?name=orders", "aeron:service?name=orders", {}),
        ("aeron_flow_controls", f"{CHANNEL}|fc=generous,3", CHANNEL, {}),
        ("aeron_congestion_controls", CHANNEL, f"{CHANNEL}|cc=aimd", {}),
        (
            "aeron_name_resolvers",
            "aeron:udp?endpoint=orders:20121",
            "aeron:udp?endpoint=orders:20121",
            {"name_resolver": "table", "name_resolver_init_args": "orders=10.0.0.2"},
        ),
    ],
)
def test_a_stream_flows_with_the_example(tmp_path, hook, publication, subscription, settings):
    assert sent_and_received(tmp_path, hook, publication, subscription, **settings) == [
        b"one",
        b"two",
        b"three",
    ]


def test_a_stream_flows_through_a_channel_that_the_example_protects(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    settings = {"security_profiles": f"orders,protector=signed,secret_file={secret}"}
    channel = f"{CHANNEL}|security=orders"

    received = sent_and_received(tmp_path, "aeron_datagram_protectors", channel, channel, **settings)

    assert received == [b"one", b"two", b"three"]


def test_a_stream_flows_between_agents_that_idle_with_the_example():
    registry = Registry.load([example("aeron_idle_strategies")])
    settings = {f"{agent}_idle_strategy": "nap" for agent in ("conductor", "sender", "receiver")}
    received = []

    with (
        aeron_core.MediaDriver.launch_embedded(settings, registry=registry) as driver,
        aeron_core.connect(driver.aeron_dir) as aeron,
    ):
        subscription = aeron.add_subscription("aeron:ipc", 1001)
        publication = aeron.add_publication("aeron:ipc", 1001)
        publication.send(b"hello", timeout=30)
        while not received:
            subscription.poll(lambda buffer, _: received.append(bytes(buffer)))

    assert received == [b"hello"]


def test_the_medium_of_the_example_refuses_an_unknown_service(tmp_path):
    with (
        DriverPair(tmp_path, plugins=[example("aeron_media_transports")]) as pair,
        pytest.raises(RegistrationError, match="must be one of orders, prices"),
    ):
        pair.add_publication("aeron:service?name=nothing", 1001)


def test_the_medium_of_the_example_keeps_the_uri_of_the_channel():
    medium = only_factory("aeron_media_transports")()
    uri = ChannelUri.parse("aeron:service?name=nothing")

    with pytest.raises(ChannelUriError, match="name=nothing"):
        medium.resolve_channel(uri, lambda text, key: None, is_publication=True)


def test_the_idle_strategy_of_the_example_is_woken_by_another_thread():
    strategy = only_factory("aeron_idle_strategies")(IdleStrategyParams("conductor", options="600000"))
    waker = threading.Timer(0.01, strategy.wake)

    waker.start()
    strategy.idle(0)

    assert not strategy.event.is_set()


def test_the_settings_of_the_example_are_loaded_by_a_driver(tmp_path):
    registry = Registry.load([example("aeron_settings")])
    sections = {"audit": {"path": "audit.log", "interval_ns": "5s"}}

    driver = aeron_core.MediaDriver(
        {"aeron_dir": str(tmp_path / "driver")}, invoker=True, registry=registry, sections=sections
    )

    with driver:
        assert driver.sections["audit"].path == "audit.log"
        assert driver.sections["audit"].interval_ns == 5_000_000_000


def test_the_command_of_the_example_is_added():
    app = typer.Typer()
    app.command("other")(lambda: None)
    Registry.load([example("aeron_cli")]).add_commands(app)

    done = CliRunner().invoke(app, ["hello", "--name", "aeron"])

    assert (done.exit_code, done.output) == (0, "hello, aeron\n")


@pytest.mark.parametrize(
    ("hook", "text"), [("aeron_driver_started", "started"), ("aeron_driver_closed", "closed")]
)
def test_the_event_of_the_example_is_reported(capsys, hook, text):
    with aeron_core.MediaDriver.launch_embedded(registry=Registry.load([example(hook)])) as driver:
        aeron_dir = driver.aeron_dir

    assert capsys.readouterr().out == f"{text} {aeron_dir}\n"
