"""Fuzz targets, two at a time, and report figures: `make hostile` builds what this needs, and runs it.

Inputs that are worth keeping are in build/hostile/TARGET/corpus, and findings in build/hostile/TARGET/findings. A
finding runs again with `fuzz_one.py TARGET FILE` in the environment that `--environment` prints. With `--keep`, the
smallest set of inputs with the same coverage replaces the corpora of the repository.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from targets import NAMES, load, read_corpus, write_corpus

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILT = ROOT / "build" / "fuzzed" / "lib"
WORK = ROOT / "build" / "hostile"
#: Of an input, in bytes; of all inputs of a target in the repository.
MAX_LENGTH = 2048
MAX_CORPUS_LENGTH = 40_000
#: Seconds and MB that no input may exceed; invented, for machines with load.
TIMEOUT_S = 30
MEMORY_MB = 2048
#: Processor time in seconds that one input may take, with the start of the program.
BUSY_S = 10


@dataclass
class Figures:
    """Results of one target."""

    target: str
    seconds: int = 0
    executions: int = 0
    coverage: int = 0
    inputs: int = 0
    findings: int = 0

    def __str__(self) -> str:
        counts = f"{self.coverage:9} {self.inputs:7} {self.findings:9}"
        return f"{self.target:20} {self.seconds:8} {self.executions:12} {counts}"


HEADER = f"{'target':20} {'seconds':>8} {'executions':>12} {'coverage':>9} {'inputs':>7} {'findings':>9}"


def environment(folder: str) -> dict[str, str]:
    """Return the variables with which instrumented modules are loaded; temporary files go to `folder`."""
    runtime = Path(sysconfig.get_path("purelib")) / "asan_with_fuzzer.so"
    return {
        "LD_PRELOAD": str(runtime),
        "PYTHONPATH": str(BUILT),
        # Each object on its own, so that an access beyond its end is found.
        "PYTHONMALLOC": "malloc",
        # CPython frees little at its end.
        "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0:allocator_may_return_null=1",
        "TMPDIR": folder,
    }


def run(target: str, folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a fuzzer to its end, with low priority."""
    command = ["nice", "-n", "5", sys.executable, str(HERE / "fuzz_one.py"), target, *arguments]
    return subprocess.run(
        command,
        env=os.environ | environment(folder),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def fill(target: str) -> Path:
    """Return the folder of the inputs of a target, with its seeds and its corpus in the repository."""
    folder = WORK / target / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    for data in {*load(target).seeds(), *read_corpus(target)}:
        (folder / sha256(data).hexdigest()[:20]).write_bytes(data)
    return folder


def fuzz(target: str, seconds: int, scratch: str) -> Figures:
    """Fuzz a target and return its figures."""
    corpus, findings = fill(target), WORK / target / "findings"
    findings.mkdir(exist_ok=True)
    before = set(findings.iterdir())
    done = run(
        target,
        scratch,
        str(corpus),
        f"-max_total_time={seconds}",
        f"-max_len={MAX_LENGTH}",
        f"-timeout={TIMEOUT_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
        "-use_value_profile=1",
    )
    (WORK / target / "log").write_text(done.stdout + done.stderr, "utf-8")
    for path in set(findings.glob("slow-unit-*")) - before:
        if busy_seconds(target, path, scratch) <= BUSY_S:
            path.unlink()
    found = sorted(set(findings.iterdir()) - before)
    if done.returncode and not found:
        print(f"{target}: the fuzzer failed, see {WORK / target / 'log'}", file=sys.stderr)
    return Figures(
        target,
        seconds,
        last_number(r"number_of_executed_units: (\d+)", done.stderr) or last_number(r"#(\d+)\t", done.stderr),
        last_number(r" cov: (\d+)", done.stderr),
        len(list(corpus.iterdir())),
        len(found) or bool(done.returncode),
    )


def busy_seconds(target: str, path: Path, folder: str) -> float:
    """Return the processor time of one input: a machine with other load makes any input slow by the clock."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "fuzz_one.py"), target, str(path)],
        env=os.environ | environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def last_number(pattern: str, text: str) -> int:
    """Return the number in the last match of a pattern, 0 if there is none."""
    matches = re.findall(pattern, text)
    return int(matches[-1]) if matches else 0


def keep(target: str, scratch: str) -> None:
    """Write the smallest set of inputs with the coverage of all of them to the repository."""
    with tempfile.TemporaryDirectory() as merged:
        corpus = fill(target)
        done = run(target, scratch, "-merge=1", f"-max_len={MAX_LENGTH}", merged, str(corpus))
        if done.returncode:
            print(f"{target}: cannot merge its inputs:\n{done.stderr[-2000:]}", file=sys.stderr)
            return
        found = sorted((path.read_bytes() for path in Path(merged).iterdir()), key=len)
    seeds = set(load(target).seeds())
    kept: list[bytes] = []
    for data in found:
        if data not in seeds and sum(map(len, kept)) + len(data) <= MAX_CORPUS_LENGTH:
            kept.append(data)
    write_corpus(target, kept)


def main() -> int:
    """Run the program; return 1 if something was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"all by default: {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target; 0 for none")
    parser.add_argument("--keep", action="store_true", help="update the corpora of the repository")
    parser.add_argument("--environment", action="store_true", help="print the variables for fuzz_one.py")
    options = parser.parse_args()
    targets = options.targets or NAMES
    if unknown := sorted(set(targets) - set(NAMES)):
        parser.error(f"unknown targets {', '.join(unknown)}: must be of {', '.join(NAMES)}")
    if options.environment:
        print(" ".join(f"{name}={value}" for name, value in environment(tempfile.gettempdir()).items()))
        return 0
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=in_memory) as scratch, ThreadPoolExecutor(2) as pool:
        print(HEADER, flush=True)
        findings = 0
        if options.seconds:
            for figures in pool.map(lambda target: fuzz(target, options.seconds, scratch), targets):
                print(figures, flush=True)
                findings += figures.findings
        if options.keep:
            list(pool.map(lambda target: keep(target, scratch), targets))
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
