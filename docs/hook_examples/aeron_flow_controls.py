"""Flow control `generous`: allow the sender some windows ahead of the fastest receiver, `fc=generous,3`."""

from aeron_core.spi import hookimpl


class GenerousFlowControl:
    def __init__(self, params):
        self.windows = int(params.options or 2)

    def on_status_message(self, sm, position, limit, now_ns):
        return max(limit, position + self.windows * sm.receiver_window)


@hookimpl
def aeron_flow_controls():
    return {"generous": GenerousFlowControl}
