"""Programs of others that speak SP PAIR, by their names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sp_peers
from sp_peers import PEERS, SpPeer


def _missing(name: str, why: str) -> None:
    """Skip the test, or fail it where CI has to have the program."""
    message = f"{name} is not tried: {why}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def sp_python() -> Path:
    """A Python that has pynng and nng."""
    return sp_peers.make_python()


@pytest.fixture(scope="session")
def mangos() -> Path:
    """The program around mangos."""
    program = sp_peers.make_mangos()
    if program is None:
        pytest.skip("mangos is not tried: there is no Go here")
    return program


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> Iterator[Callable[..., SpPeer]]:
    """Start peers by the name of the library: `pynng`, `nng`, `mangos`, with what their programs take."""
    started: list[SpPeer] = []

    def start(library: str, kind: str = "pair1", *options: str) -> SpPeer:
        command: list[object]
        if library == "mangos":
            command = [request.getfixturevalue("mangos")]
        else:
            command = [request.getfixturevalue("sp_python"), PEERS / f"{library}_peer.py"]
        made = SpPeer(*command, kind, *options)
        started.append(made)
        made.await_event("ready")
        return made

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def nngcat() -> list[str]:
    """The command of nng's nngcat, which prints whole lines."""
    return _of_debian("nngcat", "nng-utils")


@pytest.fixture
def nanocat() -> list[str]:
    """The command of libnanomsg's nanocat, which prints whole lines."""
    return _of_debian("nanocat", "nanomsg-utils")


def _of_debian(program: str, package: str) -> list[str]:
    if shutil.which(program) is None:
        _missing(program, f"on Debian, apt-get install {package}")
    return ["stdbuf", "-oL", program]
