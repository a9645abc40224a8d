"""The program `tools/faults`: runs seeded plans and prints what violates the invariants."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import aeron_core
from laboratory.judgement import Sample, judge
from laboratory.network import sweep
from laboratory.plan import EVERY_KIND, make_plan
from laboratory.plot import plot
from laboratory.soak import INTERVAL_S, Soak
from laboratory.trial import Trial

ROOT = Path(__file__).parents[4]
SECONDS = 10.0  # of faults; a run takes about 15 s more


def run_seed(
    seed: int, seconds: float = SECONDS, only: Sequence[str] = (), keep: Path | None = None
) -> list[str]:
    """Run the plan of a seed and return the violations; print them with the plan and the folder of the logs."""
    plan = make_plan(seed, seconds, only=only)
    start_s = time.monotonic()
    trial = Trial(plan, keep)
    try:
        trial.run()
    finally:
        took_s = time.monotonic() - start_s
        print(
            f"seed {seed}: {len(trial.rig.violations)} violations in {took_s:.0f} s, {trial.summary()}",
            flush=True,
        )
        if trial.rig.violations:
            print(plan, f"logs: {trial.rig.folder}", *trial.rig.violations, sep="\n", flush=True)
        else:
            shutil.rmtree(trial.rig.folder)
    return trial.rig.violations


def run_soak(seed: int, seconds: float, keep: Path | None = None, picture: Path | None = None) -> int:
    """Run the system of a seed without faults; judge its samples; return 1 after violations, else 0."""
    soak = Soak(replace(make_plan(seed, seconds), faults=(), query=None), keep)
    growing: list[str] = []
    try:
        soak.run()
    finally:  # also of a run that was terminated
        print(
            f"{len(soak.samples)} samples, violations: {soak.rig.violations}, {soak.summary()}",
            f"in {soak.rig.folder}",
            sep="\n",
            flush=True,
        )
        if soak.samples:
            soak.finish()
            growing = show(soak.samples, picture)
    return 1 if soak.rig.violations or growing else 0


def show(samples: list[Sample], picture: Path | None) -> list[str]:
    """Print the growth of each value beside its bound, then the violations, and return these; draw a picture."""
    trends = judge(samples, INTERVAL_S)
    unjudged = [trend for trend in trends if trend.unit and not trend.is_judged]
    print(
        f"{'in the second half':32} {'first':>10} {'last':>10} {'an hour':>10} {'at least':>10} {'bound':>10}"
    )
    for trend in trends:
        numbers = trend.first, trend.last, trend.per_hour, trend.least_per_hour, trend.bound_per_hour
        shown = ("" if math.isnan(number) else f"{number:.1f}" for number in numbers)
        print(f"{trend.name:32} " + " ".join(f"{number:>10}" for number in shown).rstrip())
    if unjudged:
        print(f"not judged: {len(unjudged)} of {len(trends)} values, of too few samples under the same load")
    if picture is not None:
        plot(samples, picture)
    violations = [str(trend) for trend in trends if trend.is_violation]
    print(
        *(f"violation: {text}" for text in violations), sep="\n", end="\n" if violations else "", flush=True
    )
    return violations


def run_jobs(options: argparse.Namespace) -> list[int]:
    """Run each seed in a process of its own, a number at a time; return the seeds with violations."""
    waiting = list(range(options.seed, options.seed + options.seeds))
    arguments = ["--seconds", str(options.seconds), *(f"--only={kind}" for kind in options.only)]
    if options.keep:
        arguments += ["--keep", str(options.keep)]
    running: dict[int, subprocess.Popen[bytes]] = {}
    failed: list[int] = []
    try:
        while waiting or running:
            while waiting and len(running) < options.jobs:
                seed = waiting.pop(0)
                running[seed] = subprocess.Popen(
                    [sys.executable, *sys.argv[:1], f"--seed={seed}", *arguments]
                )
            for seed, process in list(running.items()):
                if process.poll() is not None:
                    del running[seed]
                    if process.returncode:
                        failed.append(seed)
            time.sleep(0.2)
    finally:
        for process in running.values():
            process.terminate()  # each removes its network and its processes
        for process in running.values():
            process.wait()
    return failed


def stale_modules() -> str | None:
    """Return why the compiled modules of this checkout may differ from their sources; None if they are up to date.

    Agents that are compiled from other sources than the conductor beside them fail in ways that no user sees.
    """
    built = ROOT / ".venv/.built"
    if not built.exists() or not Path(aeron_core.__file__).is_relative_to(ROOT):
        return None
    done = subprocess.run(["make", "--question", ".venv/.built"], cwd=ROOT, check=False, capture_output=True)
    return (
        None if done.returncode == 0 else "sources are newer than the compiled modules: run make .venv/.built"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--jobs", type=int, default=1, help="seeds that run at the same time")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="duration of the faults")
    parser.add_argument(
        "--only", action="append", choices=EVERY_KIND, default=[], help="kinds of faults; repeatable"
    )
    parser.add_argument("--plan", action="store_true", help="print the plans and do not run them")
    parser.add_argument(
        "--keep", type=Path, help="parent folder of the logs of soaks and of runs with violations"
    )
    parser.add_argument(
        "--soak", type=float, metavar="SECONDS", help="run without faults and sample resources"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the samples of the soak; needs matplotlib"
    )
    parser.add_argument(
        "--samples", type=Path, metavar="FILE", help="take those of an earlier soak, do not run one"
    )
    options = parser.parse_args()
    # Clean up as after an interrupt; programs that a shell starts in the background ignore that one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    # Started in the background by a shell, a program ignores SIGINT, and so would the drivers while they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.samples:
        growing = show(json.loads(options.samples.read_text(encoding="utf-8")), options.plot)
        sys.exit(1 if growing else 0)
    if options.plan:
        for seed in range(options.seed, options.seed + options.seeds):
            print(make_plan(seed, options.seconds, only=options.only))
        return
    if (reason := stale_modules()) is not None:
        sys.exit(f"error: {reason}")
    if swept := sweep():
        print(f"removed what killed runs have left: {swept}", flush=True)
    if options.soak:
        sys.exit(run_soak(options.seed, options.soak, options.keep, options.plot))
    if options.jobs > 1:
        failed = run_jobs(options)
    else:
        seeds = range(options.seed, options.seed + options.seeds)
        failed = [seed for seed in seeds if run_seed(seed, options.seconds, options.only, options.keep)]
    if failed:
        sys.exit(f"violations with {len(failed)} of {options.seeds} seeds: {failed}")
