import os

import pytest
from aeron_resolvers.hosts_file import HostsFile
from aeron_resolvers.system import SystemNameResolver

import aeron_core
from aeron_core.driver.conductor.names.lookups import LookupThreads
from aeron_core.spi import NameResolverParams


@pytest.fixture
def files(tmp_path):
    hosts, services = tmp_path / "hosts", tmp_path / "nsswitch.conf"
    services.write_text("passwd: files\nhosts: files dns # comment\n")
    return hosts, services


def test_names_and_aliases_are_found_in_any_case(files):
    files[0].write_text("# comment\n127.0.0.1\tlocalhost\n10.0.0.7 orders.example Orders # 10.0.0.8 prices\n")
    hosts = HostsFile(*files)

    assert hosts.find("localhost") == "127.0.0.1"
    assert hosts.find("ORDERS") == hosts.find("orders.example") == "10.0.0.7"
    assert hosts.find("prices") is None
    assert hosts.find("comment") is None


def test_a_name_with_several_addresses_is_left_to_the_operating_system(files):
    files[0].write_text("10.0.0.7 orders\n10.0.0.8 orders\n10.0.0.9 prices\n10.0.0.9 prices\n")
    hosts = HostsFile(*files)

    assert hosts.find("orders") is None
    assert hosts.find("prices") == "10.0.0.9"


def test_ipv6_addresses_and_broken_lines_are_left_to_the_operating_system(files):
    files[0].write_bytes(b"::1 orders\nfe80::1%lo prices\n10.0.0 short\n\xff\xfe broken\n10.0.0.7\n")
    hosts = HostsFile(*files)

    assert [hosts.find(name) for name in ("orders", "prices", "short", "broken")] == [None] * 4


@pytest.mark.parametrize("services", ["hosts: dns files\n", "hosts:\n"])
def test_nothing_is_found_if_another_service_comes_first(files, services):
    files[0].write_text("10.0.0.7 orders\n")
    files[1].write_text(services)

    assert HostsFile(*files).find("orders") is None


def test_a_changed_file_is_read_again(files):
    hosts = HostsFile(*files)
    assert hosts.find("orders") is None
    files[0].write_text("10.0.0.7 orders\n")
    assert hosts.find("orders") == "10.0.0.7"

    replacement = files[0].with_name("new")
    replacement.write_text("10.0.0.8 orders\n")
    os.replace(replacement, files[0])
    assert hosts.find("orders") == "10.0.0.8"

    files[0].unlink()
    assert hosts.find("orders") is None


def test_prompt_and_other_resolution_agree_on_localhost():
    resolver = SystemNameResolver(NameResolverParams())

    assert resolver.resolve_promptly("localhost") in (None, resolver.resolve("localhost", "endpoint", False))


def test_a_channel_with_a_host_of_the_hosts_file_needs_no_helper_thread(driver, monkeypatch):
    if HostsFile().find("localhost") is None:
        pytest.skip("the hosts file does not have one IPv4 address of localhost, or is not asked first")
    started = []
    monkeypatch.setattr(LookupThreads, "__call__", lambda self, lookup: started.append(lookup))

    with aeron_core.connect(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription("aeron:udp?endpoint=localhost:0", 1)

        assert subscription.local_addresses()[0].startswith("127.0.0.1:")
    assert started == []
