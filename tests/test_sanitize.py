"""What `tools/sanitize` reads from the reports of the sanitizers: a finding that it does not see would pass."""

import runpy
from itertools import pairwise
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"

OVERFLOW = """aeron_core/_native/positions.pxd:12:33: runtime error: signed integer overflow: 1 + 2
    #0 0x7f92d4570799 in __pyx_f_align aeron_core/_native/positions.pxd:12
    #1 0x7f92d4570800 in {caller} aeron_core/_native/positions.pxd:11

"""
OVERRUN = """=================================================================
==123==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x7f bp 0x7f sp 0x7f
READ of size 1 at 0x602000000014 thread T0
    #0 0x7f92d4570799 in __pyx_f_read aeron_core/_native/buffer.pxd:60

0x602000000014 is located 0 bytes to the right of 4-byte region
    #0 0x7f92d4570801 in malloc
SUMMARY: AddressSanitizer: heap-buffer-overflow aeron_core/_native/buffer.pxd:60 in __pyx_f_read
"""
RACE = """==================
WARNING: ThreadSanitizer: data race (pid={pid})
  Write of size 8 at 0x7ffff239efc0 by thread T6:
    #0 memmove <null> (libtsan.so.2.0.0+0x5dc76)

  Previous atomic read of size 4 at 0x7ffff239efc0 by thread T8:
    #0 ac_get_i32_acquire atomics.h:35 (runs.so+0x4760)

SUMMARY: ThreadSanitizer: data race aeron_core/_native/buffer.pxd:190 in __pyx_f_copy_from
==================
"""


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return runpy.run_path(str(TOOLS / "sanitize"))


def test_each_finding_is_counted_once_whatever_process_and_caller_reported_it(tool, tmp_path, capsys):
    (tmp_path / "undefined.1").write_text(OVERFLOW.format(caller="a") + OVERFLOW.format(caller="b"))
    (tmp_path / "report.1").write_text(OVERRUN)
    (tmp_path / "report.2").write_text(RACE.format(pid=2) + RACE.format(pid=2))
    (tmp_path / "report.3").write_text(RACE.format(pid=3))

    assert tool["report"](tmp_path) == 3

    printed = capsys.readouterr().out
    assert "-- 3 times:\nWARNING: ThreadSanitizer: data race" in printed
    assert "-- 2 times:\naeron_core/_native/positions.pxd:12:33: runtime error" in printed
    assert "-- 1 times:\n==123==ERROR: AddressSanitizer: heap-buffer-overflow" in printed
    assert "3 kinds of findings in 6" in printed


def test_reports_without_findings_are_none(tool, tmp_path):
    (tmp_path / "report.1").write_text("==1==WARNING: AddressSanitizer failed to allocate 0x7fffffff bytes\n")

    assert tool["report"](tmp_path) == 0


def test_each_suppression_has_its_reason_above_it():
    for path in (TOOLS / "sanitizer-suppressions").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines()
        for before, line in pairwise(lines):
            assert line.startswith("#") or ":" in line
            assert line.startswith("#") or before, f"{path.name}: {line}: must have its reason above it"
