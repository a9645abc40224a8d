"""A hundred receivers under min flow control: `python benchmarks/min_flow_control.py [figure.png]`.

Three of them become slow for a while, ten stop sending.

Eleven drivers on a simulated network with a manual clock: the output depends on the seed only, not on the machine.
Without a file, only the numbers are printed; the figure requires matplotlib.
"""

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.testing.links import SimulatedLink
from aeron_core.testing.pair import MS, US, S, Simulation

SEED = 1
DRIVERS, SIZE = 10, 100
LINK = SimulatedLink(loss=0.03, duplication=0.01, latency_ns=1 * MS, jitter_ns=2 * MS)
CONTROL = "control=10.0.0.1:20120|control-mode=dynamic"
PUBLICATION = f"aeron:udp?{CONTROL}|fc=min,g:/90,t:1s|term-length=64k"
MESSAGE = bytes(992)  # 64 of them fill a term without padding
SETTLE_NS = 2 * S  # a request for a setup frame delays the other receivers for a second
SLOW_INTERVAL_NS = 20 * MS
SLOW_FROM_NS, SLOW_UNTIL_NS, CUT_NS, END_NS = 2 * S, 5 * S, 7 * S, 10 * S
SLOW, CUT = range(3), range(90, 100)
RECEIVERS, SENDER_POSITION = 17, 2  # types of counters


@dataclass
class Receiver:
    """One receiver; polls everything, or one message every `interval_ns`."""

    subscription: Subscription
    address: str
    interval_ns: int = 0
    due_ns: int = 0
    is_cut: bool = False

    @property
    def position(self) -> int:
        return max((image.position for image in self.subscription.images), default=0)

    def poll(self, now_ns: int) -> None:
        if now_ns >= self.due_ns:
            self.due_ns = now_ns + self.interval_ns
            self.subscription.poll(lambda buffer, header: None, 1 if self.interval_ns else 100)


@dataclass
class Outcome:
    """Values at every step: seconds, bytes, and number of required receivers."""

    seconds: list[float] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    slowest: list[int] = field(default_factory=list)
    waited_for: list[int] = field(default_factory=list)

    def rate(self, begin_ns: int, end_ns: int) -> float:
        """Return the kilobytes per second between two times."""
        begin, end = (
            next(
                index for index, at in enumerate(self.seconds) if at >= time_ns / S or at == self.seconds[-1]
            )
            for time_ns in (begin_ns, end_ns)
        )
        return (self.sent[end] - self.sent[begin]) / (self.seconds[end] - self.seconds[begin]) / 1000


def run() -> Outcome:
    with (
        tempfile.TemporaryDirectory(prefix="aeron-min-", dir="/dev/shm") as directory,
        Simulation(
            Path(directory), seed=SEED, link=LINK, busy_step_ns=500 * US, idle_step_ns=1 * MS
        ) as simulation,
    ):
        sender = simulation.add_driver("10.0.0.1")
        publication = simulation.result(sender.connect().add_publication_async(PUBLICATION, 1001))
        receivers = subscribe(simulation)
        ids = {record.type_id: record.id for record in sender.counters}
        simulation.run_until(lambda: sender.counters.value(ids[RECEIVERS]) == SIZE)
        outcome, start_ns = Outcome(), simulation.now_ns + SETTLE_NS

        def step() -> None:
            now_ns = simulation.now_ns - start_ns
            while publication.offer(MESSAGE) > 0:
                pass
            for index, receiver in enumerate(receivers):
                is_slow = index in SLOW and SLOW_FROM_NS <= now_ns < SLOW_UNTIL_NS
                receiver.interval_ns = SLOW_INTERVAL_NS if is_slow else 0
                if index in CUT and now_ns >= CUT_NS and not receiver.is_cut:
                    receiver.is_cut = True
                    simulation.network.set_link(SimulatedLink(is_partitioned=True), source=receiver.address)
                    simulation.network.set_link(
                        SimulatedLink(is_partitioned=True), destination=receiver.address
                    )
                receiver.poll(simulation.now_ns)
            if now_ns < 0:
                return
            outcome.seconds.append(now_ns / S)
            outcome.sent.append(sender.counters.value(ids[SENDER_POSITION]))
            outcome.slowest.append(min(receiver.position for receiver in receivers if not receiver.is_cut))
            outcome.waited_for.append(sender.counters.value(ids[RECEIVERS]))

        simulation.run_for(SETTLE_NS + END_NS, each=step)
        return outcome


def subscribe(simulation: Simulation) -> list[Receiver]:
    clients = [simulation.add_driver(f"10.0.1.{number}").connect() for number in range(DRIVERS)]
    receivers = []
    for index in range(SIZE):
        address = f"10.0.1.{index % DRIVERS}:{20121 + index // DRIVERS}"
        channel = f"aeron:udp?endpoint={address}|{CONTROL}"
        registration = clients[index % DRIVERS].add_subscription_async(channel, 1001)
        receivers.append(Receiver(simulation.result(registration), address))
    return receivers


def draw(path: str, outcome: Outcome) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(9, 5.6), sharex=True, gridspec_kw={"height_ratios": [3, 1]}
    )
    upper.plot(outcome.seconds, [sent / 1e6 for sent in outcome.sent], label="sender")
    upper.plot(outcome.seconds, [at / 1e6 for at in outcome.slowest], "--", label="slowest live receiver")
    for begin_ns, end_ns, text in (
        (SLOW_FROM_NS, SLOW_UNTIL_NS, "three read\n50 messages/s"),
        (CUT_NS, CUT_NS + 1 * S, "ten have\nfallen silent"),
    ):
        for axes in (upper, lower):
            axes.axvspan(begin_ns / S, end_ns / S, alpha=0.12, color="tab:red", lw=0)
        upper.annotate(
            text, ((begin_ns + end_ns) / 2 / S, 0.06), xycoords=("data", "axes fraction"), ha="center"
        )
    upper.set(ylabel="position, MB", title="100 receivers, fc=min,g:/90,t:1s; 3 % of datagrams lost")
    upper.legend(loc="upper left")
    lower.plot(outcome.seconds, outcome.waited_for, drawstyle="steps-post", color="tab:green")
    lower.set(xlabel="seconds", ylabel="waited for", ylim=(80, 102))
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    outcome = run()
    print("| time | kB/s | waited for |\n|---|---|---|")
    for begin_ns, end_ns, what in (
        (0, SLOW_FROM_NS, "all read at once"),
        (SLOW_FROM_NS + 1 * S, SLOW_UNTIL_NS, "three read 50 messages/s"),
        (SLOW_UNTIL_NS, CUT_NS, "all read at once again"),
        (CUT_NS + 200 * MS, CUT_NS + 800 * MS, "ten have fallen silent"),
        (CUT_NS + 1200 * MS, END_NS, "they are forgotten"),
    ):
        index = next(number for number, at in enumerate(outcome.seconds) if at >= (end_ns - 50 * MS) / S)
        print(f"| {what} | {outcome.rate(begin_ns, end_ns):.0f} | {outcome.waited_for[index]} |")
    ahead = max(sent - slowest for sent, slowest in zip(outcome.sent, outcome.slowest, strict=True))
    print(f"at most {ahead} bytes ahead of the slowest")
    if len(sys.argv) > 1:
        draw(sys.argv[1], outcome)


if __name__ == "__main__":
    main()
