"""Ours beside peers and limits, alternating: medians, ratios and processor time, as a table, JSON, Markdown and plots.

    run.py [ROW ...] [--rounds 5] [--seconds 1.5] [--json FILE] [--markdown FILE] [--plots FOLDER]

ROW is a key of `rows.py`, or the beginning of several. Absolute figures of two machines, or of two hours, cannot be
compared: the ratio of a row is the median of the ratios of its rounds, in which both sides run one after the other.
Rows beside a peer that this Python does not have are left out. Files are kept in /dev/shm.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rows import ROWS, Row

LIMITS = Path(__file__).parent / "limits"
#: Compiled programs of `limits/`.
BUILT = Path(__file__).parents[1] / "build" / "limits"
LIBRARIES = {"compression": ["-lisal"]}
TIMEOUT_S = 120


@dataclass
class Side:
    """What one program of a row printed and used in each round."""

    figures: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of the figures."""
        return statistics.median(self.figures)


@dataclass
class Result:
    """The rounds of one row."""

    row: Row
    ours: Side = field(default_factory=Side)
    other: Side = field(default_factory=Side)

    @property
    def ratio(self) -> float:
        """The median ratio of the rounds: above 1 if we are better."""
        pairs = zip(self.ours.figures, self.other.figures, strict=True)
        return statistics.median(self.row.ratio(ours, other) for ours, other in pairs)

    def as_json(self) -> dict[str, object]:
        """Return the row with all its rounds."""
        return {
            "row": self.row.key,
            "title": self.row.title,
            "beside": self.row.other_name,
            "figure": self.row.figure,
            "ours": self.ours.figures,
            "other": self.other.figures,
            "ours_cpu_s": [round(seconds, 3) for seconds in self.ours.cpu_s],
            "other_cpu_s": [round(seconds, 3) for seconds in self.other.cpu_s],
            "ratio": round(self.ratio, 4),
            "aim": round(self.row.aim, 4),
        }


def built(name: str) -> Path:
    """Return the program of `limits/NAME.c`, compiled if it is missing or older than its sources."""
    source, program = LIMITS / f"{name}.c", BUILT / name
    newest = max(source.stat().st_mtime, (LIMITS / "measure.h").stat().st_mtime)
    if not program.exists() or program.stat().st_mtime < newest:
        BUILT.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-O2", "-Wall", "-o", program, source, *LIBRARIES.get(name, [])], check=True, text=True
        )
    return program


def measure(command: Sequence[str], figure: str, side: Side) -> None:
    """Run one program, and add its figure and the processor time of its processes."""
    before = os.times()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, "TMPDIR": "/dev/shm"},
    )
    after = os.times()
    if done.returncode != 0:
        raise SystemExit(
            f"error: {' '.join(command)}: exit code {done.returncode}, must be 0: {done.stderr.strip()}"
        )
    side.figures.append(float(json.loads(done.stdout.splitlines()[-1])[figure]))
    side.cpu_s.append(
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def positive_int(text: str) -> int:
    """Return a number of rounds; raise ArgumentTypeError unless it is 1 or more."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number from 1")
    return int(text)


def positive_seconds(text: str) -> float:
    """Return a duration; raise ArgumentTypeError unless it is above 0 and leaves a program time to end."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= TIMEOUT_S / 2:
        raise argparse.ArgumentTypeError(f"{text}: must be a number above 0, at most {TIMEOUT_S // 2}")
    return seconds


def check_outputs(files: Sequence[Path | None], folder: Path | None) -> None:
    """Create the files and the folder, so that a wrong path ends the program before it measures, not after."""
    path = None
    try:
        for path in files:
            if path is not None:
                path.open("a", encoding="utf-8").close()
        path = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"error: cannot write {path}: {error.strerror}: choose another path") from None


def selected(keys: Sequence[str]) -> list[Row]:
    """Return the rows that begin with one of `keys`, all without keys; exit if there is none for a key."""
    for key in keys:
        if not any(row.key.startswith(key) for row in ROWS):
            raise SystemExit(
                f"error: no row {key}: must be the beginning of {', '.join(row.key for row in ROWS)}"
            )
    rows = [row for row in ROWS if not keys or row.key.startswith(tuple(keys))]
    modules = {module for row in rows for module in row.modules}
    missing = {module for module in modules if importlib.util.find_spec(module) is None}
    if missing:
        left_out = [row.key for row in rows if row.modules & missing]
        print(
            f"left out, because this Python has no {' and no '.join(sorted(missing))} (that of `make bench` has them): "
            f"{', '.join(left_out)}",
            file=sys.stderr,
        )
    return [row for row in rows if not row.modules & missing]


def measured(rows: Sequence[Row], rounds: int, seconds: float) -> list[Result]:
    """Return the results of all rows; which side runs first changes with each round."""
    results = [Result(row) for row in rows]
    for name in {row.limit for row in rows if row.limit}:
        built(name)
    work = [(number, result) for number in range(rounds) for result in results]
    for number, result in track(work, description="measuring", console=Console(stderr=True)):
        row = result.row
        other = (str(built(row.limit)), *row.other[1:]) if row.limit else row.other
        sides = [(row.ours, result.ours), (other, result.other)]
        for command, side in sides if number % 2 == 0 else reversed(sides):
            measure([*command, str(seconds)], row.figure, side)
    return results


def shown(value: float, figure: str) -> str:
    """Return a figure with its unit."""
    if figure.endswith("us"):
        return f"{value:,.1f} µs"
    if figure == "s/GB":
        return f"{value:,.2f} {figure}"
    return f"{value / 1e6:,.2f} M/s" if figure == "messages/s" else f"{value:,.0f} {figure}"


def cells(result: Result) -> list[str]:
    """Return one row of the table."""
    row = result.row
    cpu_s = [statistics.median(side.cpu_s) for side in (result.ours, result.other)]
    return [
        row.key,
        row.title,
        shown(result.ours.median, row.figure),
        row.other_name,
        shown(result.other.median, row.figure),
        f"{result.ratio:.2f}",
        f"≥ {row.aim:.2g}",
        f"{cpu_s[0]:.1f} / {cpu_s[1]:.1f} s",
    ]


HEADINGS = ("row", "work", "ours", "beside", "figure", "ratio", "aim", "processor time")


def title(rounds: int) -> str:
    """Return what the figures are of."""
    load = os.getloadavg()[0]
    return (
        f"Medians of {rounds} alternating rounds, Python {platform.python_version()}, {os.cpu_count()} processors, "
        f"load {load:.1f} at the end"
    )


def markdown(results: Sequence[Result], rounds: int) -> str:
    """Return the table as Markdown."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *map(cells, results)]
    return f"{title(rounds)}.\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draw(results: Sequence[Result], folder: Path) -> None:
    """Draw the ratio of each row, with its aim, and the processor time of both sides."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{result.row.title}, beside {result.row.other_name}" for result in results]
    height = 1.5 + 0.4 * len(names)
    figure, axes = plt.subplots(figsize=(9, height))
    places = range(len(names))
    axes.barh(places, [result.ratio for result in results], color="#3b6ea5", label="ours / other side")
    axes.plot(
        [result.row.aim for result in results], places, "|", color="#c03d3e", markersize=16, label="aim"
    )
    axes.axvline(1, color="#888888", linewidth=0.8)
    axes.set(xscale="log", yticks=list(places), yticklabels=names, xlabel="ratio: more is better")
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(folder / "ratios.png", bbox_inches="tight", dpi=120)
    figure, axes = plt.subplots(figsize=(9, height))
    for offset, colour, label, values in (
        (-0.2, "#3b6ea5", "ours", [statistics.median(result.ours.cpu_s) for result in results]),
        (0.2, "#bbbbbb", "other side", [statistics.median(result.other.cpu_s) for result in results]),
    ):
        axes.barh([place + offset for place in places], values, height=0.4, color=colour, label=label)
    axes.set(yticks=list(places), yticklabels=names, xlabel="processor time of a round in seconds")
    axes.invert_yaxis()
    axes.legend()
    figure.savefig(folder / "processor-time.png", bbox_inches="tight", dpi=120)


def main() -> None:
    """Measure the selected rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help="keys of rows, or their beginnings; all by default"
    )
    parser.add_argument("--rounds", type=positive_int, default=5, help="rounds of each row (%(default)s)")
    parser.add_argument(
        "--seconds",
        type=positive_seconds,
        default=1.5,
        help="measured time of one side in one round (%(default)s)",
    )
    parser.add_argument("--json", type=Path, help="write all rounds to a file")
    parser.add_argument("--markdown", type=Path, help="write the table to a file")
    parser.add_argument("--plots", type=Path, help="draw into a folder; needs matplotlib")
    options = parser.parse_args()
    rows = selected(options.rows)
    if not rows:
        return
    check_outputs([options.json, options.markdown], options.plots)
    results = measured(rows, options.rounds, options.seconds)
    table = Table(*HEADINGS, title=title(options.rounds))
    for result in results:
        table.add_row(*cells(result))
    Console(width=140).print(table)
    if options.json:
        options.json.write_text(json.dumps([result.as_json() for result in results], indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown(results, options.rounds))
    if options.plots:
        draw(results, options.plots)


if __name__ == "__main__":
    main()
