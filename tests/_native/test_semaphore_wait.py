"""Duration of semaphore waits when the wall clock is set back, and on systems without `sem_clockwait`."""

import ctypes
import os
import shlex
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import aeron_core
from aeron_core._native.semaphore import NamedSemaphore

pytestmark = pytest.mark.system

NAME = "/aeron-core-test-semaphore-wait"
HEADERS = Path(aeron_core.get_include(), "aeron_core", "_native")

# The wall clock is reported an hour ahead, as if it were set back right after the call.
SET_BACK = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += 3600;
    return result;
}
"""

WITHOUT = r"""
#define AC_WITHOUT_SEM_CLOCKWAIT
#include <fcntl.h>
#include "semaphore_wait.h"

int wait_for(const char *name, int64_t timeout_ns)
{
    sem_t *semaphore = sem_open(name, 0);
    int result = ac_semaphore_wait(semaphore, timeout_ns);
    sem_close(semaphore);
    return result;
}
"""

IDLE = f"""
from aeron_core.agent.idle_strategies import SignalIdleStrategy
from aeron_core.testing import IdleStrategyProbe

strategy = SignalIdleStrategy({NAME!r}, 1_000_000)
IdleStrategyProbe(strategy).idle(0)
strategy.close()
print("woke")
"""


def compile_library(folder: Path, source: str) -> Path:
    (folder / "library.c").write_text(source, encoding="utf-8")
    library = folder / "library.so"
    compiler = shlex.split(sysconfig.get_config_var("CC"))
    subprocess.run(
        [*compiler, "-shared", "-fPIC", "-I", HEADERS, "-o", library, folder / "library.c", "-lpthread"],
        check=True,
    )
    return library


@pytest.fixture
def wait_without_clockwait(tmp_path):
    library = ctypes.CDLL(str(compile_library(tmp_path, WITHOUT)))
    return lambda timeout_ns: library.wait_for(NAME.encode(), ctypes.c_int64(timeout_ns))


@pytest.fixture
def semaphore():
    made = NamedSemaphore(NAME, create=True)
    yield made
    made.unlink()


def test_a_wait_ends_in_time_though_the_wall_clock_is_set_back(tmp_path):
    library = compile_library(tmp_path, SET_BACK)

    done = subprocess.run(
        [sys.executable, "-c", IDLE],
        # Behind what is preloaded already, such as the library of a sanitizer, without which no module would load.
        env=os.environ | {"LD_PRELOAD": f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    assert done.stdout == "woke\n"


def test_without_clockwait_a_wait_ends_when_the_semaphore_is_posted(semaphore, wait_without_clockwait):
    semaphore.signal()

    assert wait_without_clockwait(60_000_000_000) == 1


def test_without_clockwait_a_wait_ends_with_its_timeout(semaphore, wait_without_clockwait):
    start_ns = time.monotonic_ns()

    assert wait_without_clockwait(3_500_000) == 0
    assert time.monotonic_ns() - start_ns >= 3_500_000
