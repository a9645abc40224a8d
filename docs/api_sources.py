"""Public names of the package and what its sources have about them: signatures, types, docstrings.

Compiled classes have no annotations at run time; griffe reads them from the sources and from `.pyi` files, without
importing anything, and `.pxd` files are read here. Not here: how they are shown.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import griffe

ROOT: Final = Path(__file__).parent.parent
#: Source roots of the packages that a user's program or plugin may import.
ROOTS: Final = {
    "aeron_core": ROOT,
    "aeron_media": ROOT / "plugins/media",
    "pyspark_aeron": ROOT / "plugins/spark",
}
#: Packages with public names, the ones whose names are shown first.
PACKAGES: Final = (
    "aeron_core",
    "aeron_core.aio",
    "aeron_core.archive",
    "aeron_core.archive.aio",
    "aeron_core.resilient",
    "aeron_core.resilient.aio",
    "aeron_core.observation",
    "aeron_core.recording",
    "aeron_core.device",
    "aeron_core.settings",
    "aeron_core.settings.variables",
    "aeron_core.spi",
    "aeron_core.testing",
    "aeron_core.testing.conformance",
    "aeron_core.errors",
    "pyspark_aeron",
)
#: Members that are public only for other modules of the package; matched in their docstrings.
_INTERNAL: Final = re.compile(
    r"\b[Ff]or (the client's conductor|the supervisor|claims|images|compiled callers)\b"
)
_C_TYPES: Final = {"bint": "bool", "int32_t": "int", "int64_t": "int", "double": "float", "object": ""}


class Declarations(griffe.Extension):
    """Adds the attributes that a `.pxd` declares to its class, and removes the methods that only C can call.

    Those of `aeron_core.spi` remain: plugins implement them.
    """

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Read the declaration of a compiled class."""
        path = Path(str(cls.filepath)).with_suffix(".pxd")
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        declared = re.search(rf"^cdef class {cls.name}\b.*?(?=^\S|\Z)", text, re.M | re.S)
        for line in declared[0].splitlines() if declared else ():
            if found := re.match(r"    cdef (?:readonly|public) (\S+) (\w+) *(?:# (.*))?", line):
                kind, name, comment = found.groups()
                attribute = griffe.Attribute(name, annotation=_C_TYPES.get(kind, kind) or None, parent=cls)
                attribute.docstring = griffe.Docstring(comment, parent=attribute) if comment else None
                cls.set_member(name, attribute)
            elif cls.path.startswith("aeron_core.spi."):
                continue
            elif found := re.match(r"    cdef .*?\b(\w+)\(", line):
                cls.members.pop(found[1], None)
        _add_docstrings_of_pyx(cls)


def _add_docstrings_of_pyx(cls: griffe.Class) -> None:
    """Add docstrings to a class and its methods in a `.pyi`, which has none: its `.pyx` has them."""
    path = Path(str(cls.filepath))
    pyx = path.with_suffix(".pyx")
    if path.suffix != ".pyi" or not pyx.exists():
        return
    text = pyx.read_text(encoding="utf-8")
    source = re.search(rf"^cdef class {cls.name}\b.*?(?=^\S|\Z)", text, re.M | re.S)
    for name, found in (("", cls), *cls.members.items()) if source else ():
        header = rf"    (?:cp)?def (?:[\w ]+ )?{name}\(.*?" if name else ""
        doc = re.search(rf'^{header or "cdef class [^:]*"}:\n\s+"""(.*?)"""', source[0], re.M | re.S)
        if doc and not found.docstring:
            found.docstring = griffe.Docstring(inspect.cleandoc(doc[1]), parent=found)


@cache
def packages() -> griffe.ModulesCollection:
    """Return the packages as griffe reads them, by name."""
    loader = griffe.GriffeLoader(
        search_paths=[*ROOTS.values()],
        extensions=griffe.load_extensions(Declarations),
        allow_inspection=False,
    )
    for name in ROOTS:
        loader.load(name)
    return loader.modules_collection


def is_ours(path: str) -> bool:
    """Return whether a path is in one of the packages."""
    return path.startswith(tuple(f"{name}." for name in ROOTS))


def resolved(found: griffe.Object | griffe.Alias) -> griffe.Object:
    """Return an object itself where it is imported."""
    return found.final_target if isinstance(found, griffe.Alias) else found


@cache
def public_names(module: str) -> tuple[str, ...]:
    """Return the public names of a module, in source order: its `__all__`, or without one what it defines."""
    found = member_of(module)
    if found.exports is None:
        kinds = {griffe.Kind.CLASS, griffe.Kind.FUNCTION}
        return tuple(
            name
            for name, each in found.members.items()
            if not each.is_alias and each.kind in kinds and name[0] != "_"
        )
    written = [name for name in found.exports if isinstance(name, str)]
    # Names that are imported at first use are in a dictionary; for type checkers they are imported as themselves.
    lazy = [name for name, each in found.members.items() if each.is_alias and not each.runtime]
    return (*written, *(lazy if len(written) < len(found.exports) else ()))


def member_of(path: str) -> griffe.Object:
    """Return what a dotted name in the package leads to; raises KeyError if it leads nowhere."""
    first, *rest = path.split(".")
    found: Any = packages()[first]
    for name in rest:
        found = found.all_members[name] if found.is_class else found.members[name]
        found = found.final_target if found.is_alias else found
    return found


@cache
def public_paths() -> dict[str, str]:
    """Return the public name of each object by the path of its definition."""
    paths: dict[str, str] = {}
    for module in PACKAGES:
        for name in public_names(module):
            paths.setdefault(member_of(f"{module}.{name}").path, f"{module}.{name}")
    return paths


def text_of(expression: object) -> str:
    """Return an annotation as source text, with objects of the package by their public names."""
    if isinstance(expression, griffe.ExprName | griffe.ExprAttribute):
        path = expression.canonical_path
        return public_paths().get(path, path if is_ours(path) else str(expression))
    if isinstance(expression, griffe.Expr):
        return "".join(
            text_of(part) if isinstance(part, griffe.Expr) else str(part)
            for part in expression.iterate(flat=False)
        )
    return str(expression or "")


def signature_of(function: griffe.Function, *, result: object) -> str:
    """Return parameters and result, as they follow the name of a function."""
    shown: list[str] = []
    kinds = griffe.ParameterKind
    for parameter in function.parameters:
        if parameter.name in {"self", "cls"} and not shown:
            continue
        stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(parameter.kind, "")
        if parameter.kind is kinds.keyword_only and not any(text.startswith("*") for text in shown):
            shown.append("*")
        annotation = text_of(parameter.annotation)
        text = f"{stars}{parameter.name}" + (f": {annotation}" if annotation else "")
        if parameter.default is not None and not stars:
            text += f"{' = ' if annotation else '='}{parameter.default}"
        shown.append(text)
    end = text_of(result)
    return f"({', '.join(shown)})" + (f" -> {end}" if end else "")


def doc_of(found: griffe.Object) -> str:
    """Return the documentation of an object, or of what it overrides: its docstring, or the comment with it."""
    if found.docstring:
        return found.docstring.value
    doc = ""
    if found.is_attribute and found.lines:
        _, _, comment = found.lines[-1].partition("  # ")
        doc = comment or _comment_before(found)
    if not doc and isinstance(found.parent, griffe.Class) and not found.is_class:
        bases = [base for base in found.parent.mro() if is_ours(base.path) and found.name in base.members]
        doc = doc_of(resolved(bases[0].members[found.name])) if bases else ""
    return doc


def _comment_before(found: griffe.Object) -> str:
    """Return the lines before an attribute that begin with `#:`."""
    lines: list[str] = []
    before = found.lines_collection[Path(str(found.filepath))][: (found.lineno or 1) - 1]
    while before and (match := re.match(r"\s*#: ?(.*)", before.pop())):
        lines.insert(0, match[1])
    return "\n".join(lines)


def members_of(cls: griffe.Class, *, inherited: bool = True) -> Iterator[griffe.Object]:
    """Yield the public members of a class, inherited ones first, those of bases outside the package not."""
    for name, member in (cls.all_members if inherited else cls.members).items():
        found = resolved(member)
        doc = doc_of(found)
        # pytest calls the tests of a conformance suite.
        if name.startswith(("_", "test_")) or _INTERNAL.search(doc) or not is_ours(found.path):
            continue
        # What `__init__` assigns is a detail unless it is documented or declared in the class.
        constructor = found.parent.members.get("__init__") if found.parent else None
        begin, end = (constructor.lineno or 0, constructor.endlineno or 0) if constructor else (0, 0)
        is_detail = not doc and begin < (found.lineno or 0) <= end
        if (found.is_attribute and not is_detail) or found.is_function:
            yield found
