"""A directory for drivers, and drivers in it."""

import subprocess
import sys

import pytest
from left_directories import SMALL

from aeron_core.driver.media_driver import MediaDriver


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "aeron"


@pytest.fixture
def start(directory):
    """Starts drivers in the directory, without threads and with the system clock."""
    drivers = []

    def start(**settings):
        drivers.append(MediaDriver({"aeron_dir": directory, **SMALL, **settings}, invoker=True))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.close()


@pytest.fixture
def gone_pid():
    """The pid of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        return process.pid
