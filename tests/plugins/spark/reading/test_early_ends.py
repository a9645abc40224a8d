"""Tasks that Spark ends before they have written all rows."""

import sys
import traceback
import types

import pytest
from pyspark_aeron.reading import range_reader


@pytest.mark.system
def test_limited_queries_print_no_traceback(start_program, written):
    for _ in range(40):
        written.fill_term(100)

    program = start_program("limiting.py", written.store.folder)
    program.finish()

    assert "only showing top 1 row" in program.log.read_text()
    assert "Traceback" not in program.log.read_text()


@pytest.mark.parametrize(("error", "is_printed"), [(BrokenPipeError, False), (ValueError, True)])
def test_the_daemon_of_a_worker_prints_other_errors(monkeypatch, capsys, error, is_printed):
    daemon = types.ModuleType("__main__")
    daemon.traceback = traceback
    monkeypatch.setitem(sys.modules, "__main__", daemon)
    range_reader._end_quietly.__wrapped__()

    try:
        raise error
    except error:
        daemon.traceback.print_exc()

    assert (error.__name__ in capsys.readouterr().err) == is_printed
    assert daemon.traceback.format_exc is traceback.format_exc
