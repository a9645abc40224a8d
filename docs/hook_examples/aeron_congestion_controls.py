"""Congestion control `aimd`: grow the window by an MTU per update, halve it after loss, `cc=aimd`."""

from aeron_core.spi import hookimpl


class AimdCongestionControl:
    def __init__(self, params):
        self.mtu = params.sender_mtu
        self.maximum = min(params.initial_window_length, params.term_length // 2)
        self.window = self.maximum

    def on_track_rebuild(self, state):
        if state.loss_occurred:
            self.window = max(self.window // 2, 2 * self.mtu)
            state.force_status_message = True
        else:
            self.window = min(self.window + self.mtu, self.maximum)
        return self.window

    def initial_window_length(self):
        return self.maximum

    def max_window_length(self):
        return self.maximum


@hookimpl
def aeron_congestion_controls():
    return {"aimd": AimdCongestionControl}
