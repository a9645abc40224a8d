"""A flow control that follows its receiver, and counts its calls."""

from aeron_core.spi.flow_control import FlowControl

MADE = []


class CompiledFlowControl(FlowControl):
    def __init__(self, params):
        self.calls = 0
        MADE.append(self)

    def on_status_message(self, sm, position, limit, now_ns):
        self.calls += 1
        return max(limit, position + sm.receiver_window)
