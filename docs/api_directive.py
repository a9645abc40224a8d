"""The directive `api`: the reference of a package's public names, as its sources have them.

    ```{api} aeron_core
    connect
    FragmentAssembler()
    ```

Parentheses after a class document its constructor, too. Without names the directive documents all of `__all__`.
Options omit the names (`no-names`), all members of classes (`no-members`), those that are inherited (`no-inherited`),
or attributes (`no-fields`); `docstring` adds that of the package.
Docstrings are Markdown. Code in the text of any page that names a documented object is linked to it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any, ClassVar, Final

import griffe
from api_sources import (
    doc_of,
    is_ours,
    member_of,
    members_of,
    public_names,
    public_paths,
    resolved,
    signature_of,
    text_of,
)
from docutils import nodes
from docutils.parsers.rst.directives import flag
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import find_pending_xref_condition, make_refnode

#: Characters of the outermost fence in the Markdown of an object: its members have fewer, code in docstrings has three.
OUTER: Final = 6


def _value(found: griffe.Attribute) -> str:
    """Return the value of an attribute if it is a short literal."""
    text = "" if found.value is None else str(found.value)
    return text if re.fullmatch(r"-?\d[\d_.]*|'[^']{0,40}'|\"[^\"]{0,40}\"|True|False|None", text) else ""


def _is_type(found: griffe.Object) -> bool:
    """Return whether an object of a module is another name of a type, such as `Callable[[str], int]`."""
    return found.is_attribute and isinstance(found.value, griffe.ExprSubscript) and found.annotation is None


def _options(found: griffe.Object) -> Iterator[str]:
    if found.is_function:
        yield from (
            f":{label}:" for label in ("async", "classmethod", "staticmethod") if label in found.labels
        )
    if found.is_attribute and _is_type(found):
        yield f":canonical: {text_of(found.value)}"
    elif found.is_attribute:
        yield from [f":type: {text}"] if (text := text_of(found.annotation)) and text != "Final" else []
        yield from [f":value: {text}"] if "property" not in found.labels and (text := _value(found)) else []


def _bases(cls: griffe.Class) -> list[str]:
    """Return the bases of a class that are public, or exceptions of Python."""
    names = [
        public_paths().get(base.canonical_path, str(base))
        for base in cls.bases
        if isinstance(base, griffe.Expr)
    ]
    return [name for name in names if is_ours(name) or name.endswith(("Enum", "Error", "Exception"))]


def described(
    path: str,
    found: griffe.Object,
    *,
    with_constructor: bool,
    options: Container[str] = (),
    depth: int = OUTER,
) -> Iterator[str]:
    """Yield the Markdown of an object, with directives of Sphinx's Python domain.

    The directives have fences of `depth` characters, and those within them fewer.
    """
    is_member, signature = depth < OUTER, ""
    if found.is_class:
        kind, constructor = "class", found.all_members.get("__init__")
        if with_constructor and constructor is not None:
            signature = signature_of(resolved(constructor), result=None)
    elif found.is_function:
        kind, signature = "method" if is_member else "function", signature_of(found, result=found.returns)
    elif _is_type(found) and not is_member:
        kind = "type"
    else:
        kind = ("property" if "property" in found.labels else "attribute") if is_member else "data"
    yield f"{'`' * depth}{{py:{kind}}} {path.rpartition('.')[2] if is_member else path}{signature}"
    # Contents list classes and functions: with all members, each page would take seconds.
    yield from (*_options(found), *([":no-contents-entry:"] if is_member else []), "")
    if found.is_class and (bases := _bases(found)):
        yield f"Derived from {', '.join(f'`{name}`' for name in bases)}.\n"
    yield from doc_of(found).splitlines()
    inherited = "no-inherited" not in options
    with_members = found.is_class and "no-members" not in options
    for member in members_of(found, inherited=inherited) if with_members else ():
        if "no-fields" in options and member.is_attribute and "property" not in member.labels:
            continue
        yield ""
        yield from described(f"{path}.{member.name}", member, with_constructor=False, depth=depth - 1)
    yield from ("`" * depth, "")


class ApiDirective(SphinxDirective):
    """Documents names of the package that is its argument."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = dict.fromkeys(
        ("docstring", "no-names", "no-members", "no-inherited", "no-fields"), flag
    )

    def run(self) -> list[nodes.Node]:
        """Return the reference of the names."""
        [module] = self.arguments
        lines = []
        if "docstring" in self.options:
            # The first paragraph repeats the title of the page; limits of a module are for its authors.
            _, _, text = doc_of(member_of(module)).partition("\n\n")
            lines += [*re.sub(r"Not here:[^\n]*(\n[^\n]+)*", "", text).splitlines(), ""]
        if "no-names" not in self.options:
            for written in self.content or [f"{name}()" for name in public_names(module)]:
                lines += self._described(module, written.strip())
        container = nodes.Element()
        self.state.nested_parse(StringList(lines, self.get_source_info()[0]), self.content_offset, container)
        return container.children

    def _described(self, module: str, written: str) -> list[str]:
        name = written.removesuffix("()")
        try:
            found = member_of(f"{module}.{name}")
        except KeyError:
            raise self.error(f"{module} has no {name}: change the names of this directive") from None
        path = f"{module}.{name}"
        if not found.is_attribute:
            path = public_paths().get(found.path, path)
        return list(described(path, found, with_constructor=written != name, options=self.options))


class ExactTypes(SphinxPostTransform):
    """Leaves types alone that are not documented: Sphinx would link `bytes` to any member with that name."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        """Replace references to other objects by their text."""
        objects = self.env.domains.python_domain.objects
        for reference in list(self.document.findall(addnodes.pending_xref)):
            if reference["refdomain"] == "py" and reference["reftarget"] not in objects:
                shown = find_pending_xref_condition(reference, "resolved")
                reference.replace_self(shown.children if shown else reference.children)


class CodeLinks(SphinxPostTransform):
    """Links code such as `Publication.offer` to the reference of the object that it names."""

    default_priority = 20

    def run(self, **_: Any) -> None:
        """Replace the names of objects by links."""
        objects = self.env.domains.python_domain.objects
        by_end = {}
        for path, entry in objects.items():
            if entry.objtype != "module":
                by_end.setdefault(path.removeprefix("aeron_core."), (path, entry))
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, nodes.reference | addnodes.pending_xref | nodes.title):
                continue
            text = literal.astext().removeprefix("aeron_core.").partition("(")[0]
            if text not in by_end:
                text = f"{_class_of(literal)}.{text}"
            if text in by_end and (text[0].isupper() or "." in text):
                path, entry = by_end[text]
                page = self.env.current_document.docname
                code = literal.deepcopy()
                literal.replace_self(
                    make_refnode(self.app.builder, page, entry.docname, entry.node_id, code, path)
                )


def _class_of(node: nodes.Node | None) -> str:
    """Return the class in whose documentation a node is, "" if there is none."""
    while node is not None:
        if isinstance(node, addnodes.desc) and node["objtype"] == "class":
            return str(node[0]["ids"][0]).removeprefix("aeron_core.")
        node = node.parent
    return ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the links."""
    app.add_directive("api", ApiDirective)
    app.add_post_transform(ExactTypes)
    app.add_post_transform(CodeLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
