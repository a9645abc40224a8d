"""Starts Python programs as forks of a server that has imported their modules: most of a short process is imports.

A fork is a process like any other: a child of this one, with an environment, streams, signals and an exit code of its
own. Not for tests of what happens when a program starts; and its command in /proc is that of the server.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("fork_server.py")
#: Modules by program, for programs that run under other Pythons than this one.
MODULES = {
    "foreign.py": "pyaeron",
    "nng_echo.py": "pynng",
    "nng_peer.py": "nng",
    "pynng_peer.py": "pynng",
    "writers.py": "asyncio ssl logstash_async.formatter logstash_async.handler logstash_async.transport "
    "pylogbeat timbersnake.client",
}
#: Variables that programs read themselves. One that Python or a library reads when it starts needs a fresh process.
_LATE = ("AERON_", "LUMBERJACK_", "PYTEST_", "PYTHONUNBUFFERED")
_SET_CHILD_SUBREAPER = 36  # prctl.h
#: Seconds for the imports of a server, and for a fork. All processors may be busy.
_START_S = 300
_FORK_S = 60
#: Held while this process adopts the programs of any server.
_forking = threading.Lock()
#: Held while a server is chosen or started.
_starting = threading.Lock()


_servers: dict[tuple[str, str], _Server] = {}


def start_program(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a program as `subprocess.Popen` does with `text=True`: as a fork, if it is in Python and known.

    The command may begin with `ip netns exec NAME`, which also mounts the files of a namespace, in a new process.
    """
    namespace, (python, program, *_) = _without_namespace(command)
    modules = "our_modules" if python == sys.executable else MODULES.get(Path(program).name)
    has_files = namespace and (Path("/etc/netns") / namespace).is_dir()
    if modules is not None and not has_files:
        server = _server(python, modules)
        if _early(options.get("env", os.environ)) == server.environment:
            return _Fork(server, command, **options)
    return subprocess.Popen(command, text=True, **options)


def _without_namespace(command: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the network namespace, empty if it is that of this process, and the command that runs there."""
    return (command[3], command[4:]) if tuple(command[:3]) == ("ip", "netns", "exec") else ("", command)


class _Server:
    """A process that forks."""

    def __init__(self, python: str, modules: str) -> None:
        self.environment = _early(os.environ)
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._is_ready = False
        #: Whether an exchange was interrupted: its answers may follow later, and would be taken for those of the next.
        self.is_broken = False
        with other:
            self._process = subprocess.Popen(
                [python, "-W", "ignore::DeprecationWarning", SERVER, str(other.fileno()), *modules.split()],
                env=self.environment,
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self._close)

    def fork(
        self, command: Sequence[str], folder: str, environment: Mapping[str, str], streams: list[int]
    ) -> int:
        """Run a program as a child of this process; return its process id."""
        namespace, (_, *arguments) = _without_namespace(command)
        request = {
            "arguments": arguments,
            "namespace": namespace,
            "folder": folder,
            "environment": dict(environment),
            # What a new process inherits; the server may have been started when this was different.
            "ignored": [each for each in signal.valid_signals() if signal.getsignal(each) is signal.SIG_IGN],
            "blocked": list(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        }
        with _forking:
            # The program's parent exits, and this process becomes its parent. Only now: it would have to wait for
            # every process whose parent has exited, as the init process does.
            _adopt(True)
            try:
                return self._exchange(json.dumps(request).encode(), streams)
            except BaseException:
                self.is_broken = True
                self._process.kill()
                raise
            finally:
                _adopt(False)

    def _exchange(self, request: bytes, streams: list[int]) -> int:
        if not self._is_ready:
            self._receive(_START_S)
            self._is_ready = True
        socket.send_fds(self._socket, [request], streams)
        process_id = int(self._receive(_FORK_S))
        self._receive(_FORK_S)
        return process_id

    def _receive(self, timeout_s: float) -> bytes:
        self._socket.settimeout(timeout_s)
        data = self._socket.recv(64)
        if not data:
            raise RuntimeError(f"fork server {self._process.args} has ended: see its output")
        return data

    def _close(self) -> None:
        self._socket.close()
        self._process.wait(_FORK_S)


def _server(python: str, modules: str) -> _Server:
    """Return the server for these modules: a new one if there is none, or the last one is broken."""
    with _starting:
        server = _servers.get((python, modules))
        if server is None or server.is_broken:
            server = _servers[python, modules] = _Server(python, modules)
        return server


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in environment.items() if not name.startswith(_LATE)}


def _adopt(is_adopting: bool) -> None:
    none = ctypes.c_ulong(0)
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, ctypes.c_ulong(is_adopting), none, none, none)


class _Fork(subprocess.Popen[str]):
    """A process, forked instead of executed; it inherits no descriptor but its streams."""

    def __init__(self, server: _Server, command: Sequence[str], **options: Any) -> None:
        self._server = server
        super().__init__(command, text=True, **options)

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        # The arguments that subprocess passes: preexec_fn, close_fds, pass_fds, folder, environment, ..., then pairs
        # of the ends of pipes, -1 for a stream that is inherited.
        _, _, _, _, folder, environment, _, _, _, *ends = rest
        ends = ends[:6]
        streams = [number if end == -1 else end for number, end in enumerate((ends[0], ends[3], ends[5]))]
        try:
            self.pid = self._server.fork(
                args,
                os.fspath(folder or Path.cwd()),
                os.environ if environment is None else environment,
                streams,
            )
            self._child_created = True
        finally:
            self._close_pipe_fds(*ends)
