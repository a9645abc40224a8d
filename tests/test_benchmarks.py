"""Runner of the benchmarks, and programs that measure limits of the machine: do they run, and is the ratio right?"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
SECONDS = "0.02"
TIMEOUT_S = 120

LIMITS = [
    ("copies", ["1024"], {"MB/s", "messages/s"}),
    ("datagrams", ["stream", "1408"], {"MB/s", "messages/s"}),
    ("datagrams", ["echo", "64"], {"p50 us", "p99 us", "round trips"}),
    ("streams", ["tcp", "stream", "64"], {"MB/s", "messages/s"}),
    ("streams", ["unix", "echo", "64"], {"p50 us", "p99 us", "round trips"}),
    ("compression", ["inflate", "3"], {"MB/s", "messages/s"}),
    ("compression", ["deflate", "0"], {"MB/s", "messages/s"}),
]


def run(*command, **options):
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        **options,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a function that compiles a program of `limits/` with all warnings as errors."""
    folder = tmp_path_factory.mktemp("limits")
    programs = {}

    def build(name):
        if name == "compression" and not Path("/usr/include/isa-l/igzip_lib.h").exists():
            pytest.skip("needs ISA-L: apt-get install libisal-dev")
        if name not in programs:
            libraries = ["-lisal"] if name == "compression" else []
            command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", folder / name]
            done = run(*command, BENCHMARKS / "limits" / f"{name}.c", *libraries)
            assert done.returncode == 0, done.stderr
            programs[name] = folder / name
        return programs[name]

    return build


@pytest.mark.system
@pytest.mark.parametrize(
    ("name", "arguments", "figures"), LIMITS, ids=[" ".join([name, *rest]) for name, rest, _ in LIMITS]
)
def test_a_limit_is_measured(built, name, arguments, figures):
    done = run(built(name), *arguments, SECONDS)

    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert set(measured) == figures
    assert all(value > 0 for value in measured.values())


@pytest.mark.system
def test_the_workloads_of_the_c_client_compile_without_warnings(tmp_path):
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", tmp_path / "c_client.so"]

    done = run(*command, BENCHMARKS / "peers" / "c_client.c")

    assert done.returncode == 0, done.stderr


@pytest.mark.system
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["datagrams", "stream", "65508", "1"], "error: length=65508: must be from 1 to 65507\n"),
        (["copies", "1024", "0"], "error: seconds=0: must be above 0\n"),
        (["streams", "tcp"], "usage: streams tcp|unix stream|echo LENGTH SECONDS\n"),
    ],
    ids=["length", "seconds", "arguments"],
)
def test_a_wrong_argument_of_a_limit_is_reported(built, arguments, text):
    done = run(built(arguments[0]), *arguments[1:])

    assert (done.returncode, done.stderr) == (2, text)


@pytest.mark.system
def test_a_row_is_measured_beside_its_limit_and_written(tmp_path):
    files = ["--json", tmp_path / "b.json", "--markdown", tmp_path / "b.md", "--plots", tmp_path / "plots"]

    done = run(
        sys.executable, BENCHMARKS / "run.py", "udp-limit-32", "--rounds", "2", "--seconds", "0.1", *files
    )

    assert done.returncode == 0, done.stderr
    [row] = json.loads((tmp_path / "b.json").read_text())
    # A header of 32 bytes is counted with each message of 32 bytes.
    ratios = [2 * ours / other for ours, other in zip(row["ours"], row["other"], strict=True)]
    assert row["ratio"] == pytest.approx(sum(ratios) / 2, rel=0.01)
    assert min(row["ours_cpu_s"]) > 0
    assert "| udp-limit-32 | UDP 32 B, two processes, with headers |" in (tmp_path / "b.md").read_text()
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == [
        "processor-time.png",
        "ratios.png",
    ]


@pytest.mark.system
def test_an_unknown_row_is_reported_with_those_that_there_are():
    done = run(sys.executable, BENCHMARKS / "run.py", "tcp")

    assert done.returncode == 1
    assert done.stderr.startswith("error: no row tcp: must be the beginning of ipc-offer, ")


@pytest.mark.system
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seconds", "-1"], "--seconds: -1: must be a number above 0, at most 60"),
        (["--seconds", "nan"], "--seconds: nan: must be a number above 0"),
        (["--rounds", "0"], "--rounds: 0: must be a whole number from 1"),
        (
            ["--json", "/none/b.json"],
            "error: cannot write /none/b.json: No such file or directory: choose another",
        ),
        (["--plots", "/dev/null/plots"], "error: cannot write /dev/null/plots: "),
    ],
)
def test_a_wrong_option_is_refused_in_a_line_before_anything_is_measured(options, message):
    done = run(sys.executable, BENCHMARKS / "run.py", "udp-limit-32", *options)

    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "measuring" not in done.stderr
