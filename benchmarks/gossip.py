"""Convergence and cost of driver gossip: `python benchmarks/gossip.py [figure.png]`.

Complete drivers on a simulated network with a manual clock: the output depends on the seed only, not on the machine.
Without a file, only the numbers are printed; the figure requires matplotlib.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from aeron_core.testing.links import SimulatedLink
from aeron_core.testing.pair import MS, S, SimulatedDriver, Simulation

SEED = 1
STEP_NS = 10 * MS  # interval at which a driver polls for gossip
START_INTERVAL_NS = 20 * MS
LATENCY_NS = 500_000
SIZES = (2, 5, 10, 20, 35, 50)
STEADY_NS = 10 * S
BOOTSTRAPS = {
    "each knows the first": lambda number: 1,
    "each knows the one before": lambda number: number - 1,
}


@dataclass(frozen=True)
class Cluster:
    """Order of start: one driver after the other, each except the first with one bootstrap neighbour."""

    size: int
    bootstrap: str = "each knows the first"
    loss: float = 0.0

    def __str__(self) -> str:
        loss = f", {self.loss:.0%} loss" if self.loss else ""
        return f"{self.size} drivers, {self.bootstrap}{loss}"


@dataclass
class Outcome:
    """`known` is the share of (driver, name) pairs at each step; the other fields describe the time after that."""

    known: list[tuple[float, float]]
    seconds_to_converge: float
    messages_per_second: float
    bytes_per_second: float


def run(cluster: Cluster) -> Outcome:
    with (
        tempfile.TemporaryDirectory(prefix="aeron-gossip-", dir="/dev/shm") as directory,
        Simulation(
            Path(directory),
            seed=SEED,
            link=SimulatedLink(loss=cluster.loss, latency_ns=LATENCY_NS),
            busy_step_ns=STEP_NS,
            idle_step_ns=STEP_NS,
        ) as simulation,
    ):
        start_ns, pairs = simulation.now_ns, cluster.size * (cluster.size - 1)
        cells: list[tuple[SimulatedDriver, int]] = []
        known: list[tuple[float, float]] = []
        while not known or known[-1][1] < 1:
            elapsed_ns = simulation.now_ns - start_ns
            if len(cells) < cluster.size and elapsed_ns >= len(cells) * START_INTERVAL_NS:
                driver = add_driver(simulation, cluster, len(cells) + 1)
                cells.append((driver, driver.find_counter("Resolver cache").id))
            total = sum(driver.counters.value(counter_id) for driver, counter_id in cells)
            known.append((elapsed_ns / S, total / pairs))
            simulation.step()
        # End of the first round in which every driver sends all names to every other.
        simulation.run_for(2 * S)
        before = len(simulation.network.log)
        simulation.run_for(STEADY_NS)
        sent = simulation.network.log[before:]
        return Outcome(
            known,
            known[-1][0],
            len(sent) / (STEADY_NS / S),
            sum(len(line.data) for line in sent) / (STEADY_NS / S),
        )


def add_driver(simulation: Simulation, cluster: Cluster, number: int) -> SimulatedDriver:
    bootstrap = BOOTSTRAPS[cluster.bootstrap](number)
    return simulation.add_driver(
        f"10.0.0.{number}",
        name_resolver="driver",
        resolver_name=f"node-{number}",
        resolver_interface=f"10.0.0.{number}:8050",
        resolver_bootstrap_neighbors=(f"10.0.0.{bootstrap}:8050",) if number > 1 else (),
    )


def draw(path: str, sizes: dict[int, Outcome], shapes: dict[Cluster, Outcome]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8))
    for cluster, outcome in shapes.items():
        left.plot(
            *zip(*outcome.known, strict=True), label=str(cluster).partition(", ")[2], drawstyle="steps-post"
        )
    left.set(
        xlabel="seconds since the first driver started, one every 20 ms",
        ylabel="names known",
        title="50 drivers get to know one another",
    )
    left.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    counts = list(sizes)
    right.plot(counts, [sizes[n].messages_per_second for n in counts], "o", label="simulated")
    right.plot(range(1, 51), [1.5 * n * (n - 1) for n in range(1, 51)], "-", label="1.5 n (n - 1)", zorder=0)
    right.set(xlabel="drivers", ylabel="messages per second, all drivers", title="Cost after convergence")
    right.legend(loc="upper left")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    print(
        "| drivers | s to converge | messages/s | kB/s | of these, one driver sends |\n|---|---|---|---|---|"
    )
    sizes: dict[int, Outcome] = {}
    for size in SIZES:
        outcome = sizes[size] = run(Cluster(size))
        print(
            f"| {size} | {outcome.seconds_to_converge:.2f} | {outcome.messages_per_second:.0f} | "
            f"{outcome.bytes_per_second / 1000:.0f} | {outcome.messages_per_second / size:.0f} messages/s |"
        )
    shapes = {}
    for bootstrap in BOOTSTRAPS:
        for loss in (0.0, 0.2):
            cluster = Cluster(SIZES[-1], bootstrap, loss)
            shapes[cluster] = run(cluster)
            print(f"{cluster}: {shapes[cluster].seconds_to_converge:.2f} s to converge")
    if len(sys.argv) > 1:
        draw(sys.argv[1], sizes, shapes)


if __name__ == "__main__":
    main()
