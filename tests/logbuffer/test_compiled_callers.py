"""Publishers that really run in parallel: compiled, without the GIL, like the client's batches."""

import importlib.util
import random
import subprocess
import sys
import sysconfig
import threading
from itertools import pairwise
from pathlib import Path

import pytest

import aeron_core
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.appender import ConcurrentAppender
from aeron_core.logbuffer.batch_buffer import BatchBuffer
from aeron_core.logbuffer.reader import TermReader

pytestmark = pytest.mark.system

WINDOW = 32768
SETUP = """
from Cython.Build import cythonize
from setuptools import Extension, setup
extension = Extension("compiled_caller", ["compiled_caller.pyx"], include_dirs=[{headers!r}])
setup(ext_modules=cythonize([extension], include_path=[{root!r}], language_level=3))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return `compiled_caller.pyx`, built like a third-party module."""
    root, folder = Path(aeron_core.__file__).parents[1], tmp_path_factory.mktemp("compiled_caller")
    source = Path(__file__).with_name("compiled_caller.pyx").read_text()
    (folder / "compiled_caller.pyx").write_text(source)
    (folder / "setup.py").write_text(SETUP.format(root=str(root), headers=str(root / "aeron_core/_native")))
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    path = folder / f"compiled_caller{sysconfig.get_config_var('EXT_SUFFIX')}"
    spec = importlib.util.spec_from_file_location("compiled_caller", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def messages_of_publisher(number, count):
    # Every message has its publisher and number, and a pattern that shows whether two were mixed.
    rng = random.Random(number)
    for serial in range(count):
        length = 5000 if serial % 1000 == 999 else rng.choice((0, 7, 24, 100))
        yield b"%d:%d:" % (number, serial) + bytes([number]) * length


@pytest.mark.parametrize(("publishers", "count"), [(2, 100_000), (4, 25_000)])
def test_concurrent_publishers_lose_and_mix_no_message(make_log, make_batch, compiled, publishers, count):
    log, limit = make_log(), AtomicBuffer.allocate(8)
    limit.put_i64(0, WINDOW)
    ends = []

    def publish(number):
        data, boundaries = make_batch(list(messages_of_publisher(number, count)))
        appender = ConcurrentAppender(log, 11, 22, limit)
        ends.append(compiled.publish(appender, data, boundaries, count, number))

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(publishers)]
    for thread in threads:
        thread.start()
    reader, batch = TermReader(log), BatchBuffer(1000, 2**20)
    cleaned, serials = 0, [0] * publishers
    try:
        while sum(serials) < publishers * count and all(end > 0 for end in ends):
            batch.clear()
            cleaned = compiled.consume(reader, limit, WINDOW, batch, reader.position, cleaned)
            for number, serial in check_messages(batch):
                assert serial == serials[number]
                serials[number] += 1
    finally:
        # Stops the remaining publishers after a failure.
        log.set_is_connected(False)
        for thread in threads:
            thread.join()

    assert serials == [count] * publishers
    assert reader.dropped == 0
    assert reader.position == log.producer_position()


def check_messages(batch):
    bounds = [batch.boundaries.get_i64(8 * at) for at in range(batch.count + 1)]
    for at, (begin, end) in enumerate(pairwise(bounds)):
        number, serial, filling = batch.data.get_bytes(begin, end - begin).split(b":", 2)
        assert filling == number_of(number) * len(filling)
        assert batch.reserved_values.get_i64(8 * at) == int(number)
        yield int(number), int(serial)


def number_of(digits):
    return bytes([int(digits)])
