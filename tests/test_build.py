"""All modules with a `.pxd` are compiled.

A declaration that Cython does not find causes no error: the class becomes an ordinary one, all other tests pass,
and a call takes twenty times as long.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOTS = [ROOT, *sorted(path.parent for path in (ROOT / "plugins").glob("*/aeron_*"))]


def declarations() -> dict[str, Path]:
    """Return every `.pxd` by the name of its module."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for root in ROOTS
        for package in root.glob("aeron_*")
        for path in package.rglob("*.pxd")
    }


DECLARATIONS = declarations()
_CLASS = re.compile(r"^cdef class (\w+)(?:\([\w.]+\))?:")
#: `cdef int32_t send(self`, but not an attribute, whatever the comment after it contains.
_METHOD = re.compile(r"^    c(?:p)?def (?:inline )?[\w.\[\], *]*?\b\w+\(self")


def declared_classes(text: str) -> dict[str, bool]:
    """Return the classes in a declaration, and whether they declare C methods."""
    found: dict[str, bool] = {}
    name = ""
    for line in text.splitlines():
        if match := _CLASS.match(line):
            name = match[1]
            found[name] = False
        elif name and _METHOD.match(line):
            found[name] = True
        elif line and not line[0].isspace() and not line.startswith(("#", ")")):
            name = ""
    return found


CLASSES = [
    (module, name, has_methods)
    for module, path in sorted(DECLARATIONS.items())
    for name, has_methods in declared_classes(path.read_text(encoding="utf-8")).items()
]


def test_declarations_are_parsed():
    assert declared_classes(
        "@cython.final\ncdef class A(b.C):\n    cdef int x  # of f(self)\n\n"
        "cdef class D:\n    cdef void (*f)(int) noexcept\n    cpdef int64_t g(self, int a) except? -1\n"
        "cdef class E:\n    cdef inline list[int] h(\n        self\n    )\n    cdef C i(self) noexcept nogil\n"
        "cdef int outside(int self)\n"
    ) == {"A": False, "D": True, "E": True}
    assert len(DECLARATIONS) > 70
    assert sum(has_methods for _, _, has_methods in CLASSES) > 50


@pytest.mark.parametrize("module", sorted(DECLARATIONS))
def test_a_module_with_a_declaration_is_an_extension(module):
    file = importlib.import_module(module).__file__

    assert file is not None
    assert file.endswith(tuple(EXTENSION_SUFFIXES)), f"{file}: is not compiled"


@pytest.mark.parametrize(("module", "name", "has_methods"), CLASSES)
def test_a_declared_class_is_compiled_with_its_c_methods(module, name, has_methods):
    members = vars(getattr(importlib.import_module(module), name))

    assert "__pyx_vtable__" in members if has_methods else "__dict__" not in members


@pytest.mark.system
@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"CPPFLAGS": "-nostdinc"}, "found no header of ISA-L or zlib: on Debian, apt-get install libisal-dev"),
        ({"CC": "/nonexistent/gcc"}, "cannot run the C compiler '/nonexistent/gcc' (No such file or directory): "
         "install gcc (on Debian, apt-get install gcc libc6-dev), or name another compiler in CC"),
        ({"AERON_CORE_COMPRESSION": "lzma"}, "AERON_CORE_COMPRESSION=lzma: must be isal or zlib"),
    ],
)  # fmt: skip
def test_a_build_that_lacks_a_package_reports_its_name_in_one_line(environment, message):
    pytest.importorskip("Cython")

    done = subprocess.run(
        [sys.executable, "setup.py", "build"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert f"error: {message}" in done.stderr
    # Nothing hides the line.
    assert "Traceback" not in done.stderr
    assert "copying" not in done.stdout


FREE_THREADED = [
    path
    for root in ROOTS
    for package in root.glob("aeron_*")
    for path in sorted(package.rglob("*.pyx"))
    if "freethreading_compatible" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("source", FREE_THREADED, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_that_declares_to_be_safe_without_the_gil_has_neither_objects_nor_variables(source):
    text = source.read_text(encoding="utf-8") + source.with_suffix(".pxd").read_text(encoding="utf-8")

    assert not re.search(r"\bclass \w|^cdef (?!inline|enum)|^\w+ = |\bcimport (?!int|wire$)", text, re.M)


@pytest.mark.skipif(not (ROOT / "build" / "cython").is_dir(), reason="not compiled in place")
def test_modules_of_constants_declare_in_their_code_that_they_are_safe_without_the_gil():
    slot = "#define __Pyx_FREETHREADING_COMPATIBLE Py_MOD_GIL_NOT_USED\n#endif\n"
    sources = [
        path.with_suffix(".pyx") for path in DECLARATIONS.values() if path.with_suffix(".pyx").exists()
    ]

    declaring = [
        path
        for path in sources
        if slot in (ROOT / "build/cython" / path.relative_to(ROOT)).with_suffix(".c").read_text("utf-8")
    ]

    assert len(declaring) > 10
    assert sorted(declaring) == sorted(FREE_THREADED)


TRANSLATION = """
import sys
from pathlib import Path

sys.argv = ["setup.py", "--version"]
import setup
from Cython.Build import cythonize
from translation import KNOWN_RELEASES, LEAST_MODULES, translate
import Cython

names = sys.stdin.read().split()
options = {"compiler_directives": setup.DIRECTIVES, "include_path": setup.ROOTS, "quiet": True}
modules = [each for each in setup.extensions() if each.name in names]
assert len(modules) == len(names) >= LEAST_MODULES
assert Cython.__version__.startswith(KNOWN_RELEASES), "compare all C code, then add the release to KNOWN_RELEASES"
shared = translate(modules, processes=2, build_dir=FOLDER + "/shared", **options)
modules = [each for each in setup.extensions() if each.name in names]
alone = cythonize(modules, build_dir=FOLDER + "/alone", **options)
for one, other in zip(shared, alone, strict=True):
    assert Path(one.sources[0]).read_bytes() == Path(other.sources[0]).read_bytes(), one.name
"""


@pytest.mark.system
def test_modules_translated_with_shared_declarations_equal_those_that_cython_translates_alone(tmp_path):
    pytest.importorskip("Cython")
    # From all levels. Of other modules, the order of includes differs, and names may be imported that are not used.
    names = [
        *("aeron_core._native.buffer", "aeron_core._native.positions", "aeron_core.agent.duty_cycle"),
        *(
            "aeron_core.client.subscriptions.image",
            "aeron_core.logbuffer.gap_scanner",
            "aeron_core.spi.idle_strategy",
        ),
        *("aeron_core.driver.receiver.loss_detector", "aeron_core.driver.agents.rate_limit"),
        *("aeron_congestion.cubic", "aeron_media.lumberjack.codec.frame_parser", "aeron_media.sp.dialer"),
    ]

    done = subprocess.run(
        [sys.executable, "-c", f"FOLDER = {str(tmp_path)!r}\n{TRANSLATION}"],
        cwd=ROOT,
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert f"translating {len(names)} of {len(names)} modules\n" in done.stderr


PROGRESS = """
import sys, time
from types import SimpleNamespace

sys.argv = ["setup.py", "--version"]
import setup

sys.stderr.isatty = lambda: sys.argv[0] == "terminal"
command = SimpleNamespace(extensions=[None] * 30, _started=time.monotonic())
for sys.argv[0] in ("file", "terminal"):
    for command._compiled in (1, 25, 26, 30):
        setup.BuildExtensions._report_progress(command)
"""


@pytest.mark.system
def test_a_build_reports_progress_in_one_line_of_a_terminal_or_every_25_modules():
    pytest.importorskip("Cython")

    done = subprocess.run(
        [sys.executable, "-c", PROGRESS], cwd=ROOT, capture_output=True, check=True, stdin=subprocess.DEVNULL
    )

    counts = [f"compiled {count} of 30 modules, 0 s" for count in (1, 25, 26, 30)]
    in_one_line = "".join(f"\r{text}" for text in counts)
    assert done.stderr.decode() == f"{counts[1]}\n{counts[3]}\n{in_one_line}\n"


def output_of_translation(program: str, folder: Path) -> str:
    """Return the output of a program that translates modules in a folder; skip the test without its Cython."""
    cython = pytest.importorskip("Cython")
    if not cython.__version__.startswith("3.3."):
        pytest.skip("another release is translated by Cython alone")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


UNCHANGED = """
import os, sys
from pathlib import Path
from setuptools import Extension
from translation import translate

# Without the lines of sources, as this project.
DIRECTIVES = {"language_level": 3, "emit_code_comments": False}

def changed():
    modules = [Extension(name, [name + ".py"]) for name in ("base", "derived", "other")]
    done = translate(modules, processes=2, compiler_directives=DIRECTIVES, build_dir="c", quiet=True)
    unchanged = [each.name for each in done if getattr(each, "unchanged_since", None) is not None]
    print(*unchanged)

def append(path, text):
    Path(path).write_text(Path(path).read_text() + text)
    # Newer than the C code, whatever the resolution of the clock.
    later = max(file.stat().st_mtime for file in Path("c").iterdir()) + 1
    os.utime(path, (later, later))

changed()
append("base.pxd", "# A comment.\\n")
changed()
append("base.pxd", "    cdef int more\\n")
changed()
"""


@pytest.mark.system
def test_a_module_whose_c_code_a_translation_has_not_changed_is_named(tmp_path):
    (tmp_path / "base.py").write_text("class Base:\n    pass\n")
    (tmp_path / "base.pxd").write_text("cdef class Base:\n    cdef int first\n")
    (tmp_path / "derived.py").write_text("class Derived(Base):\n    pass\n")
    (tmp_path / "derived.pxd").write_text("from base cimport Base\ncdef class Derived(Base):\n    pass\n")
    (tmp_path / "other.py").write_text("")
    (tmp_path / "other.pxd").write_text("")

    output = output_of_translation(UNCHANGED, tmp_path)

    # At first all are new; a comment changes nothing; an attribute changes both, and the third is not translated.
    assert output.splitlines() == ["", "base derived", ""]


NEEDED = """
import os, re
from pathlib import Path
from setuptools import Extension
from translation import translate

def translated():
    done = translate([Extension("user", ["user.py"])], processes=1, build_dir="c", quiet=True)
    return Path(done[0].sources[0]).read_text()

print(*re.findall("LIMIT = ([0-9]+)", translated()))
constants = Path("package/constants.pxd")
constants.write_text(constants.read_text().replace("41", "42"))
# Newer than the C code, whatever the resolution of the clock.
later = Path("c/user.c").stat().st_mtime + 1
os.utime(constants, (later, later))
print(*re.findall("LIMIT = ([0-9]+)", translated()))
"""


@pytest.mark.system
@pytest.mark.parametrize("names", ["constants", "constants as limits", "(\n    constants,\n)"])
def test_a_module_is_translated_again_if_constants_have_changed_that_it_needs(tmp_path, names):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "constants.pxd").write_text("cpdef enum:\n    LIMIT = 41\n")
    (tmp_path / "user.py").write_text("")
    (tmp_path / "user.pxd").write_text(f"from package cimport {names}\n")

    output = output_of_translation(NEEDED, tmp_path)

    assert [set(line.split()) for line in output.splitlines()] == [{"41"}, {"42"}]


NEWER = """
import os, sys
sys.argv = ["setup.py", "--version"]
import setup

module, header = sys.stdin.read().split()
for time, header_time in ((9, 9), (10, 9), (9, 10)):
    os.utime(header, (header_time, header_time))
    print(setup.is_newer(module, time, [header, "no-such-header"]))
print(setup.is_newer("no-such-module", 0, []))
"""


@pytest.mark.system
def test_a_module_counts_as_compiled_if_it_is_newer_than_its_c_code_and_its_headers(tmp_path):
    pytest.importorskip("Cython")
    module, header = tmp_path / "module.so", tmp_path / "header.h"
    module.touch()
    header.touch()
    os.utime(module, (10, 10))

    done = subprocess.run(
        [sys.executable, "-c", NEWER],
        cwd=ROOT,
        input=f"{module} {header}",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-4:] == ["True", "False", "False", "False"]


FLAGS = """
import sys
from pathlib import Path
from setuptools import Extension
from compile_flags import record_flags

stamp = Path(sys.stdin.read())
for flags in (["-O3"], ["-O3"], ["-Os"], ["-Os"]):
    before = stamp.stat().st_mtime_ns if stamp.exists() else 0
    record_flags(Extension("module", [], extra_compile_args=flags), stamp)
    print(stamp.stat().st_mtime_ns > before)
"""


@pytest.mark.system
def test_the_record_of_the_flags_of_a_module_is_newer_only_after_a_change(tmp_path):
    pytest.importorskip("Cython")

    done = subprocess.run(
        [sys.executable, "-c", FLAGS],
        cwd=ROOT / "tools",
        input=str(tmp_path / "flags" / "module"),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-4:] == ["False", "False", "True", "False"]
