"""Open descriptors of this process, to see whether a closed endpoint has released its own."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from aeron_core.testing.pair import S

if TYPE_CHECKING:
    from aeron_core.testing.conformance.connection_lab import ConnectionLab

#: Seconds that an endpoint without streams may linger.
_RELEASE_S: Final = 30


def open_descriptors() -> dict[int, str]:
    """Return the open descriptors of this process, each with its target, such as a path or `socket:[inode]`."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        # The descriptor of the listing itself is closed by now.
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def opened_since(before: dict[int, str]) -> dict[int, str]:
    """Return the open descriptors that `before` does not contain."""
    return {number: target for number, target in open_descriptors().items() if before.get(number) != target}


def assert_released(lab: ConnectionLab, before: dict[int, str]) -> None:
    """Run a lab until descriptors that are not in `before` are closed; raise AssertionError after 30 simulated s."""
    for _ in range(_RELEASE_S):
        kept = opened_since(before)
        if not kept:
            return
        lab.run(1 * S)
    raise AssertionError(
        f"still open after {_RELEASE_S} simulated s: {kept}: close them when the endpoint is closed"
    )
