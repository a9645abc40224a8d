"""Lets a sender go as far as its receiver says, and counts how often it was asked."""

from aeron_core.spi.flow_control import FlowControl

MADE = []


class CompiledFlowControl(FlowControl):
    def __init__(self, params):
        self.calls = 0
        MADE.append(self)

    def on_status_message(self, sm, position, limit, now_ns):
        self.calls += 1
        return max(limit, position + sm.receiver_window)
