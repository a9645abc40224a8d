"""Workers whose connection Spark closes: of tasks that have not written all rows, and of idle processes."""

import pickle
import sys
import traceback
import types
from importlib.machinery import ModuleSpec

import pyspark_aeron
import pytest
from pyspark_aeron import quiet_ends
from pyspark_aeron.source import AeronDataSource


@pytest.mark.system
def test_limited_queries_print_no_traceback(start_program, written):
    for _ in range(40):
        written.fill_term(100)

    program = start_program("limiting.py", written.store.folder)
    program.finish()

    assert "only showing top 1 row" in program.log.read_text()
    assert "Traceback" not in program.log.read_text()


def main_module(monkeypatch, name):
    """Return a module that is the main one, and that `python -m NAME` runs."""
    module = types.ModuleType("__main__")
    module.traceback = traceback
    module.__spec__ = ModuleSpec(name, None)
    monkeypatch.setitem(sys.modules, "__main__", module)
    quiet_ends.end_quietly.cache_clear()
    return module


@pytest.fixture
def daemon(monkeypatch):
    """Return the main module of a worker."""
    yield main_module(monkeypatch, "pyspark.daemon")
    quiet_ends.end_quietly.cache_clear()


@pytest.mark.parametrize(("error", "is_printed"), [(BrokenPipeError, False), (ValueError, True)])
def test_the_daemon_of_a_worker_prints_other_errors(daemon, capsys, error, is_printed):
    quiet_ends.end_quietly()

    try:
        raise error
    except error:
        daemon.traceback.print_exc()

    assert (error.__name__ in capsys.readouterr().err) == is_printed
    assert daemon.traceback.format_exc is traceback.format_exc


# Spark keeps each of them for a minute after its last task, and closes its connection then.
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda source: pyspark_aeron.DefaultSource, id="that looks formats up"),
        pytest.param(lambda source: AeronDataSource({}), id="that creates a source"),
        pytest.param(pickle.loads, id="that gets a source from another one"),
    ],
)
def test_each_process_that_uses_the_source_ends_quietly(daemon, use):
    source = pickle.dumps(AeronDataSource({"path": "a"}))
    daemon.traceback = traceback
    quiet_ends.end_quietly.cache_clear()

    use(source)

    assert daemon.traceback is not traceback


def test_the_module_of_another_program_is_not_changed(monkeypatch):
    module = main_module(monkeypatch, "pytest")

    quiet_ends.end_quietly()

    assert module.traceback is traceback
    quiet_ends.end_quietly.cache_clear()
