"""Subscribers that join a running stream while the command to the sender or receiver is delayed."""

import sys
import threading
import time
from itertools import pairwise

import pytest

from aeron_core import connect
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.settings.models import ClientSettings
from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import MS, S

IPC = "aeron:ipc"
CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
LOOPBACK = "aeron:udp?endpoint=127.0.0.1:20121"
TERM_LENGTH = 64 * 1024
FRAME_LENGTH = 1024
MESSAGES = [n.to_bytes(8, "little") * 124 for n in range(400)]
TIMEOUT_S = 60
VISIT = 100  # messages that a subscriber reads before it leaves


def run_conductor_alone(driver, cycles):
    """Run the conductor of a driver without its sender and receiver."""
    for _ in range(cycles):
        driver.media_driver._assembly.conductor.do_work()


def join_behind_a_queue(simulation, driver, client, channel, occupy):
    """Subscribe while `occupy` commands are queued before that of the join."""
    for n in range(occupy):
        client.add_subscription_async(channel, 5000 + n)
        client.add_publication_async(IPC, 5000 + n)
    registration = client.add_subscription_async(channel, 1001)
    run_conductor_alone(driver, 2 * occupy + 1)
    return registration


def flows_past(simulation, feed, sink, registration):
    """Run a stream to its end; return the subscription that joined in between, and what it read."""
    late = []

    def each():
        feed.offer()
        sink.poll()
        if not late and registration.poll() is not None:
            late.append(Sink(registration.poll()))
        if late:
            late[0].poll()
        return feed.is_done and late and len(sink.all) == len(feed.messages) and late[0].poll() == 0

    simulation.run_until(each)
    return late[0]


def assert_read_from_where_it_joined(late):
    (image,) = late.subscription.images
    assert late.all == MESSAGES[image.join_position // FRAME_LENGTH :]
    assert late.all


def test_a_late_subscriber_of_an_ipc_stream_joins_before_the_cleaned_part(lone):
    sink = Sink(lone.add_subscription(IPC, 1001))
    feed = Feed(lone.add_publication(IPC, 1001), MESSAGES)
    lone.run_until(lambda: feed.publication.available_window)

    registration = join_behind_a_queue(lone, lone.driver, lone.client, IPC, occupy=40)
    late = flows_past(lone, feed, sink, registration)

    assert_read_from_where_it_joined(late)


def test_a_late_subscriber_of_an_image_joins_before_the_cleaned_part(pair):
    sink = Sink(pair.add_subscription(CHANNEL, 1001))
    feed = Feed(pair.add_publication(CHANNEL, 1001), MESSAGES)
    pair.run_until(lambda: feed.publication.available_window)

    registration = join_behind_a_queue(pair, pair.receiver, pair.subscriber, CHANNEL, occupy=150)
    late = flows_past(pair, feed, sink, registration)

    assert late.subscription.images[0].join_position > TERM_LENGTH
    assert_read_from_where_it_joined(late)


def test_subscribers_that_wait_for_an_ipc_stream_read_it_from_its_start(lone):
    sinks = [Sink(lone.add_subscription(IPC, 1001)) for _ in range(20)]
    registration = lone.client.add_publication_async(IPC, 1001)
    run_conductor_alone(lone.driver, 1)
    lone.client.do_work()
    feed = Feed(registration.poll(), MESSAGES)

    def each():
        return feed.offer() + sum(sink.poll() for sink in sinks) == 0 and feed.is_done

    lone.run_until(each)

    assert [len(sink.all) for sink in sinks] == [len(MESSAGES)] * 20


def test_a_subscriber_removed_before_it_has_joined_gets_no_image(lone):
    announced = []
    publication = lone.add_publication(IPC, 1001)
    lone.run_for(10 * MS)
    registration = lone.client.add_subscription_async(
        IPC, 1001, on_available_image=announced.append, on_unavailable_image=announced.append
    )
    run_conductor_alone(lone.driver, 1)
    lone.client.do_work()
    registration.poll().close()
    run_conductor_alone(lone.driver, 1)

    lone.run_for(100 * MS)

    assert announced == []
    assert lone.driver.find_counters("sub-pos") == []
    assert not publication.is_connected


def test_a_subscriber_that_joins_during_a_revocation_gets_no_image(lone):
    announced = []
    publication = lone.add_publication(IPC, 1001)
    lone.run_for(10 * MS)
    lone.client.add_subscription_async(
        IPC, 1001, on_available_image=announced.append, on_unavailable_image=announced.append
    )
    run_conductor_alone(lone.driver, 1)
    publication.revoke()
    lone.clock.advance(2 * S)
    run_conductor_alone(lone.driver, 2)

    lone.run_for(100 * MS)

    assert announced == []


def test_a_stream_does_not_end_while_a_subscriber_joins(lone):
    sink = Sink(lone.add_subscription(IPC, 1001))
    publication = lone.add_publication(IPC, 1001)
    lone.run_until(lambda: publication.available_window)
    publication.offer(b"last bytes")
    registration = lone.client.add_subscription_async(IPC, 1001)
    run_conductor_alone(lone.driver, 1)
    publication.close()
    lone.clock.advance(2 * S)
    run_conductor_alone(lone.driver, 2)
    late = Sink(lone.result(registration))

    lone.run_until(lambda: late.poll() == 0 and late.subscription.is_connected)
    lone.run_until(lambda: sink.poll() + late.poll() == 0 and len(sink.all) == 1)

    assert late.all == sink.all == [b"last bytes"]


def release_gil_unless(has_worked):
    """Let another thread run at once: a thread without work would keep the GIL until the end of its time slice."""
    if not has_worked:
        time.sleep(0)


class Busy:
    """A threaded driver, a publisher at full speed, and a subscriber that reads everything."""

    def __init__(self, directory, mode, count, reads=IPC, publishes=IPC):
        self.driver = MediaDriver.launch(
            {
                "aeron_dir": directory / "aeron",
                "threading_mode": mode,
                "ipc_term_buffer_length": "64k",
                "term_buffer_length": "64k",
                "counters_buffer_length": "1m",
                "perform_storage_checks": False,
                "dir_delete_on_shutdown": True,
            }
        )
        self.count = count
        self.read = 0
        self.deadline = time.monotonic() + TIMEOUT_S
        self.client = connect(settings=ClientSettings(aeron_dir=self.driver.aeron_dir))
        self._reads = reads
        self._subscription = self.client.add_subscription(reads, 1001)
        self._publication = self.client.add_publication(publishes, 1001)
        self._publication.await_connected(timeout=TIMEOUT_S)
        self._threads = [threading.Thread(target=work) for work in (self._publish, self._read_all)]
        for thread in self._threads:
            thread.start()

    @property
    def is_over(self):
        return self.read >= self.count or time.monotonic() > self.deadline

    def _publish(self):
        number = 0
        while number < self.count and time.monotonic() < self.deadline:
            is_sent = self._publication.offer(number.to_bytes(480, "little")) > 0
            number += is_sent
            release_gil_unless(is_sent)

    def _read_all(self):
        while not self.is_over:
            count = self._subscription.poll(lambda *_: None, 256)
            self.read += count
            release_gil_unless(count)

    def join_and_leave(self):
        """Return the numbers that a subscriber read between joining and leaving."""
        numbers = []
        with self.client.add_subscription(self._reads, 1001) as subscription:
            while len(numbers) < VISIT and not self.is_over:
                release_gil_unless(
                    subscription.poll(lambda buffer, _: numbers.append(int.from_bytes(buffer, "little")), 10)
                )
        return numbers

    def close(self):
        for thread in self._threads:
            thread.join()
        self.client.close()
        self.driver.close()


@pytest.fixture
def restless_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(50e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless_threads")
@pytest.mark.parametrize("mode", ["SHARED", "DEDICATED"])
@pytest.mark.parametrize(
    ("reads", "publishes"),
    # Only SETUP frames are sent to that address: spies keep the stream connected.
    [(IPC, IPC), ("aeron-spy:" + LOOPBACK, LOOPBACK + "|ssc=true")],
    ids=["ipc", "spies"],
)
def test_subscribers_join_and_leave_while_a_publisher_runs_at_full_speed(memory_path, mode, reads, publishes):
    busy = Busy(memory_path, mode, count=6_000, reads=reads, publishes=publishes)

    visits = []
    while not busy.is_over:
        visits.append(busy.join_and_leave())
    busy.close()

    assert busy.read == busy.count
    assert sum(len(numbers) >= VISIT for numbers in visits) >= 5
    for numbers in visits:
        assert all(after == before + 1 for before, after in pairwise(numbers))
