"""The program `tools/faults`: runs seeded plans and prints what violates the invariants."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from laboratory.plan import KINDS, make_plan
from laboratory.soak import Soak
from laboratory.trial import Trial

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
            f"seed {seed}: {len(trial.violations)} violations in {took_s:.0f} s, {trial.summary()}",
            flush=True,
        )
        if trial.violations:
            print(plan, f"logs: {trial.folder}", *trial.violations, sep="\n", flush=True)
        else:
            shutil.rmtree(trial.folder)
    return trial.violations


def run_soak(seed: int, seconds: float, keep: Path | None = None) -> int:
    """Run the system of a seed without faults; print slopes of its resources; return 1 after violations, else 0."""
    soak = Soak(replace(make_plan(seed, seconds), faults=()), keep)
    soak.run()
    soak.finish()
    print(
        f"{len(soak.samples)} samples, violations: {soak.violations}, {soak.summary()}",
        f"in {soak.folder}",
        sep="\n",
    )
    for name, slope in soak.slopes().items():
        print(f"{name:36} {soak.samples[0][name]:>12} .. {soak.samples[-1][name]:>12}  {slope:>+12} per hour")
    return 1 if soak.violations else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds, one after the other")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="duration of the faults")
    parser.add_argument(
        "--only", action="append", choices=KINDS, default=[], help="kinds of faults; repeatable"
    )
    parser.add_argument("--plan", action="store_true", help="print the plans and do not run them")
    parser.add_argument("--keep", type=Path, help="parent folder of the logs of runs with violations")
    parser.add_argument(
        "--soak", type=float, metavar="SECONDS", help="run without faults and sample resources"
    )
    options = parser.parse_args()
    # Clean up as after an interrupt; programs that a shell starts in the background ignore that one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    if options.soak:
        sys.exit(run_soak(options.seed, options.soak, options.keep))
    failed = []
    for seed in range(options.seed, options.seed + options.seeds):
        if options.plan:
            print(make_plan(seed, options.seconds, only=options.only))
        elif run_seed(seed, options.seconds, options.only, options.keep):
            failed.append(seed)
    if failed:
        sys.exit(f"violations with {len(failed)} of {options.seeds} seeds: {failed}")
