"""The switch between the machines of the fault program."""

from __future__ import annotations

import pytest
from laboratory.network import Network, ip
from laboratory.switch import Switch


@pytest.mark.netns
@pytest.mark.usefixtures("machines")
def test_a_switch_does_not_wait_for_a_port_whose_error_was_taken_by_a_packet_to_it():
    port, other = Network(1).ports.values()
    ip("link", "add", port, "type", "veth", "peer", "name", other)
    try:
        for name in (port, other):
            ip("link", "set", name, "addrgenmode", "none")  # no packets of IPv6
        ip("link", "set", port, "up")
        switch = Switch("1", [port, other])
        for state in ("down", "up"):
            ip("link", "set", port, state)
        with pytest.raises(OSError, match="Network is down"):
            switch._ports[0].send(bytes(64))

        switch._take(switch._ports[0], 1)

        assert switch.counts == {}
    finally:
        ip("link", "del", port)
