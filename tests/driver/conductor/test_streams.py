"""Streams of a driver: their order, those of a stream id, and their timers."""

from types import SimpleNamespace

from aeron_core.driver.conductor.streams import Streams


class Timed:
    """A stream with a timer that can be made to fail."""

    def __init__(self, context, stream_id, *, raises=False, is_over=False):
        self.context, self.session_id, self.stream_id = context, 7, stream_id
        self.registration_id = 4711
        self._raises, self._is_over = raises, is_over
        self.is_timed = False

    def on_timer(self, now_ns):
        self.is_timed = True
        if self._raises:
            raise IndexError("cannot read the log")
        return self._is_over


class Errors:
    """Records the errors of the conductor."""

    def __init__(self):
        self.recorded = []

    def record_exception(self, error, context):
        self.recorded.append((str(error), context))


class Events:
    """Records what the conductor passes to the event log."""

    def __init__(self):
        self.recorded = []

    def record(self, event, /, **details):
        self.recorded.append(details)


def streams_of(*lifecycles):
    streams = Streams()
    for each in lifecycles:
        streams.add(each)
    return streams


def test_streams_are_found_by_their_id_in_the_order_of_their_creation():
    first, other, second = Timed(None, 1), Timed(None, 2, is_over=True), Timed(None, 1)
    streams = streams_of(first, other, second)

    assert list(streams) == [first, other, second]
    assert list(streams.of(1)) == [first, second]
    assert list(streams.of(2)) == [other]
    assert list(streams.of(3)) == []

    assert streams.take_ended(now_ns=0) == [other]
    assert list(streams) == [first, second]
    assert list(streams.of(2)) == []


def test_a_failing_stream_timer_is_recorded_and_does_not_stop_others_from_ending():
    context = SimpleNamespace(errors=Errors(), events=Events())
    broken, lasting = Timed(context, 1, raises=True), Timed(context, 2)
    over = Timed(context, 3, is_over=True)
    streams = streams_of(broken, lasting, over)

    assert streams.take_ended(now_ns=0) == [over]

    assert lasting.is_timed
    assert list(streams) == [broken, lasting]
    assert context.errors.recorded == [("cannot read the log", "timer of a stream")]
    (details,) = context.events.recorded
    assert (details["session_id"], details["stream_id"]) == (7, 1)
