"""Idle strategy `nap`: wait for some milliseconds, or until another thread wakes the agent."""

import threading

from aeron_core.spi import hookimpl


class NapIdleStrategy:
    def __init__(self, params):
        self.timeout_s = float(params.options or 1) / 1000
        self.event = threading.Event()

    def idle(self, work_count):
        if work_count == 0 and self.event.wait(self.timeout_s):
            self.event.clear()

    def wake(self):
        self.event.set()


@hookimpl
def aeron_idle_strategies():
    return {"nap": NapIdleStrategy}
