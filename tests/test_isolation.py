"""Tests of several processes, and several runs on one machine, do not meet at a port.

Ports of tests are chosen by the kernel, or belong to a simulated network, to a network namespace, or to a loopback
address of one process (`own_address`).
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
#: Functions that take the address of a socket that is bound.
BINDING = {"bind", "create_server", "start_server", "create_datagram_endpoint"}
PORT = re.compile(r"(?:127(?:\.\d+){3}|localhost|0\.0\.0\.0|\[::1?\]):(\d{2,5})\b")
#: Files of tests/interop, where all drivers are real, with such ports, and why no other process binds them.
WITH_PORTS = {
    "peers/channel_cases.py": "`apart` replaces the address by that of the process",
    "test_counters.py": "labels of counters contain them; the tests of a file share a process",
}


def bound_ports(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Yield the line and the number of each port, except 0, that a call binds by its number."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        ports = [keyword.value for keyword in node.keywords if keyword.arg == "port"]
        arguments = [*node.args, *ports] if name in BINDING else []
        for argument in arguments:
            # An address, or a host and a port of their own.
            parts = argument.elts[1:2] if isinstance(argument, ast.Tuple) else [argument]
            for part in parts:
                if isinstance(part, ast.Constant) and type(part.value) is int and part.value != 0:
                    yield node.lineno, part.value


def test_a_bound_port_is_found():
    calls = "a.bind(('::1', 5))\na.bind(('', 0))\nb.create_server(f, 'x', port=6, backlog=8)\nc(('', 7))\nbind(address)"

    assert list(bound_ports(ast.parse(calls))) == [(1, 5), (3, 6)]


def test_no_test_binds_a_port_by_its_number():
    files = sorted(TESTS.rglob("*.py"))
    found = {
        f"{path.relative_to(TESTS)}:{line}": port
        for path in files
        for line, port in bound_ports(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert len(files) > 500
    assert found == {}


def test_no_port_of_real_drivers_is_named_by_two_files():
    folder = TESTS / "interop"

    found = {
        str(path.relative_to(folder)): set(PORT.findall(path.read_text(encoding="utf-8")))
        for path in folder.rglob("*.py")
    }

    assert {name for name, ports in found.items() if ports} == set(WITH_PORTS)
    ports = [port for name in WITH_PORTS for port in found[name]]
    assert len(ports) == len(set(ports))
