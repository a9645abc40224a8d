"""Run a stream through each plugin that tests/cli/test_new_plugin.py has installed; print a JSON report.

An argument is the SPI version that this aeron-core and its own plugins have in place of theirs.
"""

import importlib
import json
import socket
import sys
import time
from pathlib import Path

from aeron_core._native import wire

if sys.argv[1:]:
    wire.SPI_VERSION = int(sys.argv[1])
    for name in (
        "aeron_congestion.static_window",
        "aeron_flow_control.max_flow_control",
        "aeron_media.udp.transport",
        "aeron_media.udp.receive_endpoint",
        "aeron_media.udp.send_endpoint",
    ):
        importlib.import_module(name).AERON_CORE_SPI_VERSION = wire.SPI_VERSION

import aeron_core
from aeron_core.concurrent.error_log import read_errors
from aeron_core.errors import RegistrationError
from aeron_core.protocol.cnc import CncFile
from aeron_core.registry import Registry


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def logged(driver: aeron_core.MediaDriver) -> list[str]:
    cnc = CncFile.open(driver.aeron_dir / "cnc.dat", read_only=True)
    return [record.text for record in read_errors(cnc.error_log)]


def run_stream(name: str, publication_channel: str, subscription_channel: str) -> None:
    """Add the first message, or the text of the first error, to the result."""
    messages: list[bytes] = []
    with aeron.add_subscription(subscription_channel, 1) as subscription:
        try:
            publication = aeron.add_publication(publication_channel, 1)
        except RegistrationError as error:
            result["refused"][name] = str(error)
            return
        deadline = time.monotonic() + 60
        # A driver logs why it creates no image; the publication then stays unconnected.
        while not messages and len(logged(driver)) == len(result["refused"]):
            assert time.monotonic() < deadline
            publication.offer(b"hello")
            subscription.poll(lambda buffer, _: messages.append(bytes(buffer)))
        publication.close()
    if messages:
        result["received"][name] = messages[0].decode()
    else:
        result["refused"][name] = logged(driver)[-1]


SECRET = Path("secret")
SECRET.write_bytes(b"s" * 32)
SETTINGS = {
    "term_buffer_length": "64k",
    "name_resolver": "my-resolver",
    "name_resolver_init_args": "orders=127.0.0.1",
    "security_profiles": f"signed,protector=my-protector,secret_file={SECRET}",
    **{f"{agent}_idle_strategy": "my-idle-strategy" for agent in ("conductor", "sender", "receiver")},
}
#: Keys of a publication and of a subscription, by plugin.
KEYS = {
    "my-flow-control": ("|fc=my-flow-control,2048", ""),
    "fast-flow-control": ("|fc=fast-flow-control,2048", ""),
    "my-congestion": ("", "|cc=my-congestion"),
    "fast-congestion": ("", "|cc=fast-congestion"),
    "my-protector": ("|security=signed", "|security=signed"),
}
result: dict[str, dict[str, str]] = {"received": {}, "refused": {}}
with (
    aeron_core.MediaDriver.launch_embedded(SETTINGS) as driver,
    aeron_core.connect(driver.aeron_dir) as aeron,
):
    for plugin, keys in KEYS.items():
        channel = f"aeron:udp?endpoint=orders:{free_port()}"
        run_stream(plugin, *(channel + key for key in keys))
    by_port = f"aeron:my-medium?port={free_port()}"
    run_stream("my-medium", by_port, by_port)
    errors = logged(driver)
plugins = [plugin.name for plugin in Registry.load().plugins()]
print(json.dumps({**result, "errors": errors, "plugins": plugins}))
