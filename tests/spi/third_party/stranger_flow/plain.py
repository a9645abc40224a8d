"""The same in plain Python."""

MADE = []


class PlainFlowControl:
    def __init__(self, params):
        self.calls = 0
        self.params = params
        MADE.append(self)

    def on_status_message(self, sm, position, limit, now_ns):
        self.calls += 1
        return max(limit, position + sm.receiver_window)

    def on_setup(self, setup, limit, now_ns):
        return limit

    def on_setup_elicited(self, sm, now_ns):
        pass

    def on_idle(self, limit, sender_position, is_end_of_stream, now_ns):
        return limit

    def on_error(self, error, now_ns):
        pass

    def has_required_receivers(self, now_ns):
        return True


class RaisingFlowControl(PlainFlowControl):
    def on_status_message(self, sm, position, limit, now_ns):
        self.calls += 1
        raise RuntimeError("a stranger's mistake")
