"""Rules about the shape of the product that no linter checks: names, folders, imports, lengths of functions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "aeron_core", *sorted(ROOT.glob("plugins/*/*_*/")))

MAX_MODULES = 20
MAX_FUNCTION_LINES = 60
MIN_LINES = 40

#: Shorter modules that only one module of their folder imports, and why they are not part of it.
SHORT_MODULES = {
    "aeron_media.ipc.parameters": "imports pydantic, without which a driver starts",
}

_C_IMPORT = re.compile(r"^\s*(?:from ([\w.]+) )?c?import ([\w., ]+|\()", re.M)
_REASON = re.compile(r"# noqa: (\w+, )*PLC0415 - \w")
_NATIVE_CLASS = re.compile(r"^\s*(?:cdef |cpdef )?class (\w+)", re.M)
_NATIVE_FUNCTION = re.compile(
    r"^( *)(?:def|cdef|cpdef)\s(?!class|struct|enum|extern|union).*?\b(\w+)\(", re.M
)


def files(package: Path, *suffixes: str) -> list[Path]:
    return sorted(path for suffix in suffixes for path in package.rglob(f"*{suffix}"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def shown(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def line_of(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start(match.lastindex or 0)) + 1


def classes_of(node: ast.AST) -> Iterator[ast.ClassDef]:
    """Yield the classes of a module and of its classes, without classes local to functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.ClassDef):
            yield child
        yield from classes_of(child)


def test_no_two_classes_share_a_name():
    found: defaultdict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in files(package, ".pyx"):
            text = path.read_text(encoding="utf-8")
            for match in _NATIVE_CLASS.finditer(text):
                found[match[1]].append(shown(path, line_of(text, match)))
        for path in files(package, ".py", ".pyi"):
            native = path.with_suffix(".pyx")
            declared = _NATIVE_CLASS.findall(native.read_text(encoding="utf-8")) if native.exists() else ()
            for node in classes_of(parsed(path)):
                # A stub repeats the classes of its module; its other classes, such as protocols, are its own.
                if node.name not in declared:
                    found[node.name].append(shown(path, node.lineno))

    assert {"AtomicBuffer", "ConnectionDelegate", "NameResolver"} <= set(found)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_no_folder_has_more_than_twenty_modules():
    counts: defaultdict[Path, int] = defaultdict(int)
    for package in PACKAGES:
        for path in files(package, ".py", ".pyx"):
            counts[path.parent] += path.name != "__init__.py"

    assert counts[ROOT / "aeron_core" / "uri"] > 0
    assert {str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > MAX_MODULES} == {}


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what runs when a module is imported or checked: `if TYPE_CHECKING` counts, functions do not."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from top_level(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from top_level(handler.body)


def imports_of(nodes: Iterable[ast.AST], names: Container[str]) -> Iterator[str]:
    """Yield the modules among `names` that statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                target = submodule if submodule in names else node.module
                if target in names:
                    yield target


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph[node]:
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            start = stack.index(node)
            component = stack[start:]
            del stack[start:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_cycles_of_a_graph_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}

    assert cycles(graph) == [["b", "c"]]


def test_no_modules_of_a_package_import_each_other_in_a_cycle():
    edges = 0
    for package in PACKAGES:
        modules = {
            ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
            for path in files(package, ".py")
        }
        graph = {
            name: set(imports_of(top_level(parsed(path).body), modules)) - {name}
            for name, path in modules.items()
        }

        edges += sum(map(len, graph.values()))
        assert cycles(graph) == []
    assert edges > 0


def c_imports_of(text: str, names: Container[str]) -> Iterator[str]:
    """Yield the modules among `names` that a `.pxd` or `.pyx` imports or cimports."""
    for match in _C_IMPORT.finditer(text):
        module = match[1]
        for name in re.split(r"[, ]+", match[2].strip()):
            submodule = f"{module}.{name}" if module else name
            target = submodule if submodule in names else module
            if target in names:
                yield target


def importers(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Return the modules that import each module, anywhere in their files; those of packages do not count."""
    found: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        if path.name == "__init__.py":
            continue
        targets: set[str] = set()
        if path.suffix == ".py":
            targets.update(imports_of(ast.walk(parsed(path)), modules))
        for native in {path, path.with_suffix(".pxd")}:
            if native.suffix != ".py" and native.exists():
                targets.update(c_imports_of(native.read_text(encoding="utf-8"), modules))
        for target in targets - {name}:
            found[target].add(name)
    return found


def test_imports_of_a_pxd_are_found():
    names = {"a", "a.b", "c"}
    text = "cimport cython\nfrom a cimport b, d\nfrom a.b cimport (\n    E)\n    import c\n"

    assert list(c_imports_of(text, names)) == ["a.b", "a", "a.b", "c"]


def test_importers_are_found_in_functions_and_in_pxd_files(tmp_path):
    texts = {
        "a.py": "",
        "b.py": "def f():\n    import a",
        "c.py": "",
        "c.pxd": "from a cimport A",
        "__init__.py": "import a",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    modules = {path.stem: path for path in files(tmp_path, ".py")}

    assert importers(modules)["a"] == {"b", "c"}


def test_a_short_module_has_more_than_one_neighbour_that_imports_it():
    modules = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts): path
        for package in PACKAGES
        for path in files(package, ".py", ".pyx")
    }
    found = importers(modules)
    lone = set()
    for name, path in modules.items():
        is_short = len(path.read_text(encoding="utf-8").splitlines()) < MIN_LINES
        if is_short and len(found[name]) == 1 and modules[min(found[name])].parent == path.parent:
            lone.add(name)

    assert len(found["aeron_core._native.buffer"]) > 10
    # A module that is not in the table goes into the module that imports it.
    assert lone == set(SHORT_MODULES)


def imports_in_functions(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of the first line of each import statement within a function, once."""
    lines = path.read_text(encoding="utf-8").splitlines()
    numbers = {
        node.lineno
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    for number in sorted(numbers):
        yield number, lines[number - 1]


@pytest.mark.parametrize(
    ("comment", "is_reason"),
    [
        ("# noqa: PLC0415 - optional", True),
        ("# noqa: F401, PLC0415 - optional", True),
        ("# noqa: PLC0415", False),
        ("# noqa: PLC0415 - ", False),
        ("# noqa: F401 - optional", False),
        ("# optional", False),
    ],
)
def test_a_reason_follows_the_code_of_the_rule(comment, is_reason):
    assert (_REASON.search(comment) is not None) == is_reason


def test_imports_of_a_function_and_of_its_functions_are_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        "import a\ndef f():\n    import b\n    def g():\n        from c import (\n            d,\n        )\n"
    )

    assert list(imports_in_functions(module)) == [(3, "    import b"), (5, "        from c import (")]


def test_imports_within_functions_state_their_reason():
    found = {
        shown(path, number): line.strip()
        for package in PACKAGES
        for path in files(package, ".py")
        for number, line in imports_in_functions(path)
    }

    assert len(found) > 10
    assert {place: line for place, line in found.items() if not _REASON.search(line)} == {}


def native_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, first line and length of the functions of a `.pyx`: up to the next line indented no deeper."""
    lines = text.splitlines()
    for match in _NATIVE_FUNCTION.finditer(text):
        first = line_of(text, match)
        end = first
        for number, line in enumerate(lines[first:], first + 1):
            indent = len(line) - len(line.lstrip())
            if line.strip() and indent <= len(match[1]) and not line.lstrip().startswith(")"):
                break
            end = number if line.strip() else end
        yield match[2], first, end - first + 1


def test_no_function_is_longer_than_sixty_lines():
    lengths: dict[str, int] = {}
    for package in PACKAGES:
        for path in files(package, ".py"):
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    assert node.end_lineno is not None
                    lengths[f"{shown(path, node.lineno)} {node.name}"] = node.end_lineno - node.lineno + 1
        for path in files(package, ".pyx"):
            for name, line, length in native_functions(path.read_text(encoding="utf-8")):
                lengths[f"{shown(path, line)} {name}"] = length

    assert len(lengths) > 1000
    assert {function: length for function, length in lengths.items() if length > MAX_FUNCTION_LINES} == {}
