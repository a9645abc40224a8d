"""Launch of a driver that signals do not interrupt."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from typing import Final

from aeron_core.driver.media_driver import MediaDriver

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def launch_into(stack: ExitStack) -> MediaDriver:
    """Return an embedded driver that `stack` closes. Called on the main thread; raises what `launch_embedded` raises.

    A signal whose handler raises waits meanwhile: between the launch and the entry in the stack, nothing would delete
    the files of the driver. The threads of the driver never get these signals.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        return stack.enter_context(MediaDriver.launch_embedded())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
