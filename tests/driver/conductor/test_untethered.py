"""Untethered subscribers, which are dropped when they would limit their stream."""

import pytest

from aeron_core.testing import Feed, Sink
from aeron_core.testing.pair import MS, US, S

IPC = "aeron:ipc"
CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
WINDOW = 32 * 1024
MESSAGE = bytes(1024 - 32)
TIMEOUTS = "|untethered-window-limit-timeout=2s|untethered-linger-timeout=3s|untethered-resting-timeout=4s"


class Race:
    """A stream with one subscriber that keeps up and one that reads nothing."""

    def __init__(self, simulation, driver, fast, publication, add_slow):
        self.simulation, self.driver, self.fast = simulation, driver, fast
        self.feed = Feed(publication, [MESSAGE] * 100_000)
        self.available, self.unavailable = [], []
        simulation.run_until(lambda: publication.is_connected and fast.subscription.is_connected)
        self.slow = add_slow(
            on_available_image=lambda image: self.available.append((simulation.now_ns, image)),
            on_unavailable_image=lambda image: self.unavailable.append((simulation.now_ns, image)),
        )
        simulation.run_until(lambda: self.slow.is_connected)
        simulation.busy_step_ns, simulation.idle_step_ns = 50 * US, 5 * MS

    def step(self):
        self.feed.offer()
        self.fast.poll()

    def run_for(self, duration_ns):
        for _ in range(duration_ns // (100 * MS)):
            self.run_100_ms(self.step)

    def run_100_ms(self, step):
        # The tests are about the timers, not about the throughput of the stream.
        self.simulation.run_for(1 * MS, each=step)
        self.simulation.run_for(99 * MS)

    def run_until(self, condition):
        for _ in range(600):
            if condition():
                return
            self.run_for(100 * MS)
        raise AssertionError("did not happen within a minute")


@pytest.fixture(params=["ipc", "spy", "image"])
def start_race(request, start_pair):
    def start(slow_options="tether=false", publication_options=TIMEOUTS, **settings):
        pair = start_pair(**settings)
        if request.param == "ipc":
            driver, client, reads, publishes = pair.sender, pair.publisher, IPC + "?", IPC + "?"
            publishes += publication_options.lstrip("|")
            fast = IPC
        elif request.param == "spy":
            driver, client, fast = pair.sender, pair.publisher, CHANNEL
            publishes, reads = CHANNEL + publication_options, f"aeron-spy:{CHANNEL}|"
        else:
            # The first subscription of an image decides.
            driver, client, fast = pair.receiver, pair.subscriber, CHANNEL + publication_options
            publishes, reads = CHANNEL, CHANNEL + "|"
        reader = pair.publisher if request.param == "ipc" else pair.subscriber
        sink = Sink(pair.result(reader.add_subscription_async(fast, 1001)))
        publication = pair.add_publication(publishes, 1001)

        def add_slow(**handlers):
            return pair.result(client.add_subscription_async(reads + slow_options, 1001, **handlers))

        return Race(pair, driver, sink, publication, add_slow)

    return start


def test_a_tethered_subscriber_limits_its_stream(start_race):
    race = start_race("tether=true")

    race.run_for(10 * S)

    assert race.unavailable == []
    assert race.feed.publication.position <= 3 * WINDOW


def test_an_untethered_subscriber_is_dropped_after_its_timeout_at_the_limit(start_race):
    race = start_race()
    race.run_for(1 * S)
    began_ns, stuck = race.simulation.now_ns, race.feed.publication.position
    assert race.unavailable == []

    race.run_until(lambda: race.unavailable)
    race.run_for(1 * S)

    assert race.unavailable[0][0] - began_ns < 4 * S
    assert not race.slow.is_connected
    assert race.feed.publication.position > stuck + WINDOW
    assert race.fast.subscription.is_connected


def test_an_untethered_subscriber_rejoins_at_the_current_position(start_race):
    race = start_race()
    race.run_until(lambda: race.unavailable)

    race.run_until(lambda: len(race.available) == 2)

    # Three seconds of LINGER and four of RESTING, each up to the next tick of the timer.
    assert 7 * S < race.available[1][0] - race.unavailable[0][0] < 10 * S
    (image,) = race.slow.images
    assert image.join_position > race.unavailable[0][1].position + 2 * WINDOW
    late = Sink(race.slow)
    race.run_until(lambda: late.poll() and late.all)
    assert late.all[0] == MESSAGE


def test_an_untethered_subscriber_without_rejoin_is_removed_after_lingering(start_race):
    race = start_race("tether=false", TIMEOUTS + "|rejoin=false", rejoin_stream=False)
    before = len(race.driver.find_counters("sub-pos"))
    race.run_until(lambda: race.unavailable)
    race.run_for(2 * S)
    assert len(race.driver.find_counters("sub-pos")) == before

    race.run_for(20 * S)

    assert len(race.driver.find_counters("sub-pos")) == before - 1
    assert len(race.available) == 1
    race.slow.close()
    race.run_for(1 * S)
    assert len(race.driver.find_counters("sub-pos")) == before - 1


def test_an_untethered_subscriber_that_keeps_up_is_not_dropped(start_race):
    race = start_race()
    late = Sink(race.slow)
    for _ in range(100):
        race.run_100_ms(lambda: (race.step(), late.poll()))

    assert race.unavailable == []
    assert len(race.available) == 1


@pytest.mark.parametrize("seconds_away", [1, 5])
def test_nothing_is_left_of_a_dropped_untethered_subscriber_that_closes(start_race, seconds_away):
    race = start_race()
    race.run_until(lambda: race.unavailable)
    race.run_for(seconds_away * S)
    before = len(race.driver.find_counters("sub-pos"))

    race.slow.close()
    race.run_for(10 * S)

    assert len(race.driver.find_counters("sub-pos")) == before - 1
    assert len(race.available) == 1


def test_settings_set_untethered_subscribers_and_their_timeouts(start_race):
    race = start_race(
        "alias=slow",
        publication_options="|alias=fast",
        tether_subscriptions=False,
        untethered_window_limit_timeout_ns="1100ms",
        untethered_linger_timeout_ns="1100ms",
        untethered_resting_timeout_ns="1100ms",
    )

    race.run_until(lambda: len(race.available) == 2)

    assert 2 * S < race.available[1][0] - race.unavailable[0][0] < 5 * S


def test_a_stream_with_a_dropped_untethered_subscriber_ends_for_the_others(start_race):
    race = start_race()
    race.run_until(lambda: race.unavailable)
    race.simulation.run_until(lambda: race.fast.poll() == 0)

    race.feed.publication.close()
    race.simulation.run_until(lambda: race.fast.poll() == 0 and not race.fast.subscription.is_connected)
    race.simulation.run_for(30 * S)

    assert len(race.unavailable) == 1
    assert race.driver.find_counters("sub-pos") == []
    assert race.driver.log_files() == []
