"""Runs Python programs in forks of itself, with modules that it has imported: `fork_server.py SOCKET MODULE...`.

Sends `ready` over the socket after the imports. `forked` then sends requests, each a JSON object with three file
descriptors: stdin, stdout and stderr. The answers are the process id, and `started`. Runs under any Python from 3.11
on, and has no other thread when it forks.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import sys
import threading
from typing import Any, TextIO

_LONGEST = 1 << 20
_NETWORK = 0x40000000  # CLONE_NEWNET of sched.h


def serve(server: socket.socket) -> dict[str, Any]:
    """Fork for each request; return the request in the process that runs it."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(server, _LONGEST, 3)
        if not data:
            os._exit(0)
        if is_program(server, descriptors):
            request: dict[str, Any] = json.loads(data)
            return request
        for descriptor in descriptors:
            os.close(descriptor)


def is_program(server: socket.socket, descriptors: list[int]) -> bool:
    """Fork twice; return whether this is the new process, which the exit between has given to the test's process."""
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        # Sent by the process that remains: when it arrives, the new process has its new parent.
        server.send(b"started")
        return False
    program = os.fork()
    if program:
        server.send(str(program).encode())
        os._exit(0)
    server.close()
    # A descriptor may have one of the numbers that it, or another one, is copied to.
    copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for number, copy in enumerate(copies):
        os.dup2(copy, number)
        os.close(copy)
    return True


def set_signals(ignored: set[int], blocked: set[int]) -> None:
    """Ignore and block the signals that a new process would inherit, and only these."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if number in ignored:
            signal.signal(number, signal.SIG_IGN)
        elif number == signal.SIGINT:
            signal.signal(number, signal.default_int_handler)
        # Python itself ignores these two when it starts.
        elif number not in (signal.SIGPIPE, signal.SIGXFSZ) and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def enter(namespace: str) -> None:
    """Move this process to a network namespace that `ip netns` has made; raise OSError if that fails."""
    library = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}", encoding="utf-8") as file:
        if library.setns(file.fileno(), _NETWORK) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")


def output(number: int, before: TextIO) -> TextIO:
    """Return a stream with the encoding of the one before, and the buffer that Python makes for it."""
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        os.fdopen(number, "wb", buffering=0 if is_unbuffered else -1),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=number == 2,
        write_through=is_unbuffered,
    )


def run(request: dict[str, Any]) -> None:
    """Run a program as Python does with these arguments: `-m MODULE ...` or `FILE ...`."""
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    if request["namespace"]:
        enter(request["namespace"])
    set_signals(set(request["ignored"]), set(request["blocked"]))
    sys.stdin = os.fdopen(0, encoding=sys.stdin.encoding)
    sys.stdout, sys.stderr = (output(number, before) for number, before in ((1, sys.stdout), (2, sys.stderr)))
    first, *rest = request["arguments"]
    if first == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.realpath(first)))
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    # A terminal sends it to this process too, which programs need later.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in sys.argv[2:]:
        importlib.import_module(module)
    del sys.path[0]  # the folder of this file; `run` puts the program's one there
    gc.collect()
    # Collections would copy the pages of all objects into each fork.
    gc.freeze()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            # A lock that it holds would remain locked in each fork.
            thread.join()
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.send(b"ready")
    run(serve(connection))
