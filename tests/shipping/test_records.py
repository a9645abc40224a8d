"""Log records: events, queue and publisher, driven step by step."""

import json
import logging
import sys

import pytest

from aeron_core.logbuffer import results
from aeron_core.shipping.record_events import RecordEvents
from aeron_core.shipping.record_publisher import PublicationLink, RecordPublisher
from aeron_core.shipping.record_queue import RecordQueue, WhenFull

S = 1_000_000_000


def all_of(queue):
    return list(iter(queue.get, None))


@pytest.mark.parametrize(
    ("when_full", "kept"),
    [
        (WhenFull.DROP_NEWEST, [b"1", b"2"]),
        (WhenFull.DROP_OLDEST, [b"2", b"3"]),
        (WhenFull.BLOCK, [b"1", b"2"]),
    ],
)
def test_messages_beyond_the_capacity_are_dropped_and_counted(when_full, kept):
    queue = RecordQueue(2, when_full, 0)
    for message in (b"1", b"2", b"3"):
        queue.put(message)

    assert all_of(queue) == kept
    assert queue.dropped == 1
    assert (queue.take_unreported(), queue.take_unreported()) == (1, 0)


def test_a_closed_queue_refuses_messages():
    queue = RecordQueue(2, WhenFull.BLOCK, 100)
    queue.put(b"1")
    queue.close()
    queue.put(b"2")

    assert all_of(queue) == [b"1"]
    assert queue.dropped == 1
    queue.wait()


def event_of(record, **fields):
    return json.loads(RecordEvents("here", fields)(record))


def record(text="hello %s", *arguments, **more):
    made = logging.LogRecord("shop.cart", logging.WARNING, "/src/cart.py", 12, text, arguments, None, "add")
    made.created = 1_700_000_000.25
    vars(made).update(more)
    return made


def test_a_record_is_an_event():
    event = event_of(record("hello %s", "world"), service={"name": "shop"})

    assert event["@timestamp"] == "2023-11-14T22:13:20.250Z"
    assert event["message"] == "hello world"
    assert event["log"] == {
        "level": "warning",
        "logger": "shop.cart",
        "origin": {"file": {"name": "/src/cart.py", "line": 12}, "function": "add"},
    }
    assert event["host"] == {"name": "here"}
    assert event["process"]["thread"]["name"] == "MainThread"
    assert event["service"] == {"name": "shop"}
    assert "extra" not in event
    assert "error" not in event


def test_extra_attributes_are_in_the_event():
    assert event_of(record("x", user=7, path=b"\xff"))["extra"] == {"user": 7, "path": "b'\\xff'"}


def test_values_that_are_not_json_appear_as_repr():
    circle = []
    circle.append(circle)

    assert event_of(record("x", user=7, load=float("nan"), circle=circle))["extra"] == {
        "user": "7",
        "load": "nan",
        "circle": "[[...]]",
    }


def test_an_exception_is_in_the_event():
    try:
        raise ValueError("wrong")
    except ValueError:
        event = event_of(record("x", exc_info=sys.exc_info()))

    assert (event["error"]["type"], event["error"]["message"]) == ("ValueError", "wrong")
    assert "test_records.py" in event["error"]["stack_trace"]


def test_text_that_cannot_be_encoded_is_replaced():
    assert event_of(record("\ud800"))["message"] == "?"


def test_fields_that_are_not_json_are_refused():
    with pytest.raises(TypeError):
        RecordEvents("here", {"a": object()})


class Publishing:
    def __init__(self, stream_type):
        self.queue = RecordQueue(3, WhenFull.DROP_NEWEST, 0)
        self.errors = []
        self.fault = None
        self.closed = 0
        self.opened = 0
        self.new_connection = stream_type
        self.stream = stream_type()
        self.publisher = RecordPublisher(self.queue, self.open, b"%d dropped".__mod__, self.errors.append)

    def open(self):
        if self.fault is not None:
            raise self.fault
        self.opened += 1
        return PublicationLink(self.stream, lambda: self.stream.confirmed, self.close)

    def close(self):
        self.closed += 1

    def put(self, *messages):
        for message in messages:
            self.queue.put(message)


@pytest.fixture
def publishing(shipping):
    return Publishing(type(shipping.stream))


def test_messages_are_published_in_order(publishing):
    publishing.put(b"1", b"2")

    assert publishing.publisher.do_work(0) == 2
    assert publishing.stream.messages == [b"1", b"2"]
    assert publishing.publisher.is_idle
    assert not publishing.publisher.is_drained
    publishing.stream.confirm()
    assert publishing.publisher.is_drained


def test_no_link_is_opened_without_a_message(publishing):
    assert publishing.publisher.do_work(0) == 0
    assert publishing.opened == 0
    assert publishing.publisher.is_drained


class WatchedQueue(RecordQueue):
    """Records whether the publisher is drained while it takes a message."""

    def take_unreported(self):
        count = super().take_unreported()
        self.seen.append((count, self.publisher.is_drained))
        return count

    def get(self):
        message = super().get()
        self.confirm()
        self.seen.append((message, self.publisher.is_drained))
        return message


def test_a_publisher_that_takes_a_message_is_not_drained(publishing):
    queue = publishing.queue = WatchedQueue(1, WhenFull.DROP_NEWEST, 0)
    queue.seen, queue.confirm = [], publishing.stream.confirm
    queue.publisher = RecordPublisher(queue, publishing.open, b"%d dropped".__mod__, publishing.errors.append)
    publishing.put(b"1", b"2")

    queue.publisher.do_work(0)
    publishing.stream.confirm()

    assert queue.seen[:3] == [(1, False), (0, False), (b"1", False)]
    assert publishing.stream.messages == [b"1 dropped", b"1"]
    assert queue.publisher.is_drained


def test_a_publisher_that_has_to_report_drops_is_not_drained(publishing):
    publishing.queue.drop()

    assert not publishing.publisher.is_drained


def test_messages_that_a_closed_queue_refuses_are_counted_but_not_reported(publishing):
    publishing.put(b"1")
    publishing.queue.close()
    publishing.put(b"2")
    publishing.publisher.do_work(0)
    publishing.stream.confirm()
    publishing.put(b"3")

    assert publishing.publisher.is_drained
    assert publishing.stream.messages == [b"1"]
    assert publishing.queue.dropped == 2


def test_a_link_that_closes_while_another_thread_waits_for_it_is_drained(publishing):
    class ClosingStream(publishing.new_connection):
        @property
        def is_closed(self):
            publishing.publisher.close()  # as the thread of the publisher
            return False

        @is_closed.setter
        def is_closed(self, value):
            pass

    publishing.stream = ClosingStream()
    publishing.put(b"1")
    publishing.publisher.do_work(0)
    publishing.stream.confirm()

    assert publishing.publisher.is_drained


def test_messages_wait_during_back_pressure_and_drops_are_reported(publishing):
    publishing.stream.window = 0
    for number in range(6):
        publishing.put(b"%d" % number)
        publishing.publisher.do_work(0)
    publishing.stream.window = 1000
    publishing.publisher.do_work(0)

    # The publisher holds one message, the queue three.
    assert publishing.stream.messages == [b"0", b"2 dropped", b"1", b"2", b"3"]


def test_a_link_that_fails_to_open_is_retried_and_reported_once(publishing):
    publishing.fault = OSError("no driver")
    publishing.put(b"1")
    for now_ns in range(0, 3 * S, S // 10):
        assert publishing.publisher.do_work(now_ns) == 0
    publishing.fault = None

    assert publishing.publisher.do_work(3 * S) == 1
    assert [str(error) for error in publishing.errors] == ["no driver"]


def test_a_lost_link_is_reopened_without_losing_queued_messages(publishing):
    publishing.put(b"1")
    publishing.publisher.do_work(0)
    publishing.stream.offer = lambda message: results.CLOSED
    publishing.put(b"2")
    publishing.publisher.do_work(0)
    publishing.stream = publishing.new_connection()
    publishing.publisher.do_work(S)

    assert publishing.stream.messages == [b"2"]
    assert (publishing.opened, publishing.closed) == (2, 1)


def test_a_message_that_is_too_long_is_dropped(publishing):
    publishing.stream.max_message_length = 20
    publishing.put(b"x" * 21, b"1")
    publishing.publisher.do_work(0)

    assert publishing.stream.messages == [b"1 dropped", b"1"]


def test_a_report_that_is_too_long_is_dropped_silently(publishing):
    publishing.stream.max_message_length = 5
    publishing.put(b"x" * 6, b"1")

    assert publishing.publisher.do_work(0) == 3
    assert publishing.publisher.do_work(0) == 0
    assert publishing.stream.messages == [b"1"]
