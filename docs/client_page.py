"""Reference page of the client, generated from source: compiled classes do not expose signatures uniformly.

A test compares it with the public names of the package and the members of its classes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aeron_core

PACKAGE: Final = Path(aeron_core.__file__).parent

#: Headings of the page, with modules and their documented names: the public names and their bases.
SECTIONS: Final = {
    "Connect": {
        "client.connecting": ("connect",),
        "client.aeron": ("Aeron",),
        "client.registrations": ("Registration",),
        "client.handlers": ("ClientHandlers", "PublicationErrorFrame"),
    },
    "Publish": {
        "client.publications.publication_state": ("PublicationState",),
        "client.publications.publication_base": ("PublicationBase",),
        "client.publications.publication": ("Publication",),
        "client.publications.exclusive_publication": ("ExclusivePublication",),
        "client.publications.claim": ("Claim",),
        "client.channel_peers": ("ChannelPeer",),
        "client.conductor.peer_watch": ("PeerWatch", "PeerRefusal"),
        "logbuffer.results": (
            "OfferResult",
            "NOT_CONNECTED",
            "BACK_PRESSURED",
            "ADMIN_ACTION",
            "CLOSED",
            "MAX_POSITION_EXCEEDED",
            "NO_PEER",
            "PEER_FULL",
        ),
    },
    "Subscribe": {
        "client.subscriptions.subscription": ("Subscription",),
        "client.subscriptions.image": ("Image",),
        "client.subscriptions.header": ("Header",),
        "client.subscriptions.fragment_assembler": ("FragmentAssembler",),
        "client.subscriptions.controlled_fragment_assembler": ("ControlledFragmentAssembler",),
        "client.subscriptions.action": ("Action",),
        "client.subscriptions.message_batch": ("MessageBatch",),
    },
    "Channels and counters": {
        "uri.channel_uri": ("ChannelUri",),
        "uri.builder": ("ChannelUriBuilder",),
        "client.channel_status": ("ChannelStatus",),
        "client.counters": ("Counter",),
        "concurrent.counters": ("CountersReader",),
    },
    "Driver": {"driver.media_driver": ("MediaDriver",), "__init__": ("get_include",)},
}

#: Modules of `aeron_core.resilient`, with documented names: the public names and their bases.
RESILIENT: Final = {
    "resilient.connecting": ("connect",),
    "resilient.aeron": ("ResilientAeron",),
    "resilient.policy": ("ReconnectPolicy",),
    "resilient.registration": ("ResilientRegistration",),
    "resilient.resource": ("ResilientResource",),
    "resilient.publications": (
        "ResilientPublicationBase",
        "ResilientPublication",
        "ResilientExclusivePublication",
    ),
    "resilient.subscription": ("ResilientSubscription", "ImagePosition"),
    "resilient.counter": ("ResilientCounter",),
    "resilient.events": (
        "Event",
        "Disconnected",
        "ReconnectFailed",
        "Reconnected",
        "PublicationRestored",
        "PublicationPosition",
        "SubscriptionRestored",
        "ImageRestored",
        "CounterRestored",
        "RestoreFailed",
        "Restored",
        "GaveUp",
        "log_event",
    ),
    "resilient.aio": ("events",),
}

#: Public names that other pages document.
ELSEWHERE: Final = {
    "ClientSettings": "settings.md",
    "DriverSettings": "settings.md",
    "ErrorCode": "errors.md",
    **dict.fromkeys([name for name in aeron_core.__all__ if name.endswith("Error")], "errors.md"),
}

#: Meaning of attributes that are declared without a comment.
_PLAIN: Final = {
    "channel": "the channel URI, as added",
    "stream_id": "the stream within the channel",
    "session_id": "session id of the publication",
    "is_closed": "whether it was closed",
    "registration_id": "registration id in the driver",
    "subscription": "the subscription of this image",
    "image": "the image of the fragment, None if there is none",
    "error_code": "error code",
    "error_message": "error text",
    "receiver_id": "id of the receiver",
    "position": "stream position",
    "on_available_image": "called with each new image",
    "on_unavailable_image": "called with each image that became unavailable",
    "on_available_counter": "called with the counters reader, registration id and counter id of each new counter",
    "on_unavailable_counter": "likewise, for each freed counter",
    "on_publication_error": "called with a PublicationErrorFrame when a receiver rejects a publication",
    "media": "name of the medium: `udp`, `ipc` or that of a plugin",
    "data": "the message",
    "reserved_value": "64 bits of the header for use by the application",
    "max_sleep_s": "maximum sleep in seconds",
    "term_length": "length of a term in bytes",
    "term_buffer_length": "length of a term in bytes",
    "initial_term_id": "the term id at which the stream began",
    "publication": "the publication",
    "counter": "the counter",
    "value": "the value that it continues with",
    "resource": "the publication, subscription or counter",
    "error": "the error",
    "attempts": "failed attempts in a row",
    "previous_driver_identity": "the driver that was lost",
}
#: Members that are public only for other modules of the package; matched in their docstrings.
_INTERNAL: Final = re.compile(
    r"\b[Ff]or (the client's conductor|the supervisor|claims|images|compiled callers)\b"
)

_NOTES: Final = {
    "PublicationState": "Base of `Publication` and `ExclusivePublication`.",
    "ResilientResource": "Base of all that follow.",
    "ResilientPublicationBase": "Base of both kinds.",
    "PublicationBase": "How `Publication` and `ExclusivePublication` offer messages.",
}


@dataclass
class Member:
    """A row of a table."""

    signature: str
    meaning: str


@dataclass
class Described:
    """One public name."""

    name: str
    signature: str
    doc: str
    members: dict[str, Member] = field(default_factory=dict)


def client_page() -> Iterator[str]:
    """Yield the page."""
    yield "# Client\n"
    yield (
        "All names are in `aeron_core`: `aeron_core.connect`. See also the [tutorial](../tutorial.md), "
        "[asyncio](../how-to/use-asyncio.md), [errors](errors.md) for exceptions, and [settings](settings.md) for the "
        "fields of `ClientSettings` and `DriverSettings`.\n"
    )
    for title, modules in SECTIONS.items():
        yield f"## {title}\n"
        for module, names in modules.items():
            source = Source(module)
            for name in names:
                yield from rendered(source.describe(name))
    yield "## asyncio\n"
    aio = Source("aio")
    yield "Functions of `aeron_core.aio`. " + _one_line(aio.doc.rpartition("\n\n")[2]) + "\n"
    for name in aio.public_names():
        yield from rendered(aio.describe(name))
    yield "## Resilient client\n"
    yield (
        "Names of `aeron_core.resilient`, a client that survives a restart of its driver: see "
        "[survive a driver restart](../how-to/survive-a-driver-restart.md). `events` is in "
        "`aeron_core.resilient.aio`.\n"
    )
    for module, names in RESILIENT.items():
        source = Source(module)
        for name in names:
            yield from rendered(source.describe(name))


class Source:
    """Source text of a module of the package."""

    def __init__(self, module: str) -> None:
        path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
        text = path.read_text(encoding="utf-8")
        self._lines = text.splitlines()
        self._tree = ast.parse(text)
        declarations = path.with_suffix(".pxd")
        self._pxd = declarations.read_text(encoding="utf-8") if declarations.exists() else ""
        self.doc = ast.get_docstring(self._tree) or ""
        # Names to expand in signatures: import aliases, and constants that are defaults.
        self._known = {
            alias.asname: alias.name
            for node in self._tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.asname
        }
        for node in self._tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
                self._known[ast.unparse(node.target)] = ast.unparse(node.value)

    def public_names(self) -> list[str]:
        """Return the names of public classes and functions, in source order."""
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        return [node.name for node in self._tree.body if isinstance(node, kinds) and node.name[0] != "_"]

    def describe(self, name: str) -> Described:
        """Return the documentation of one name of the module; raise KeyError if it is not there."""
        for number, node in enumerate(self._tree.body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                return Described(name, self._signature(node), ast.get_docstring(node) or "")
            if isinstance(node, ast.ClassDef) and node.name == name:
                members = {**self._attributes(node), **self._methods(node)}
                return Described(name, "", ast.get_docstring(node) or "", members)
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
                return Described(name, "", _string(self._tree.body, number + 1))
        raise KeyError(f"{name} is not in its module: change SECTIONS of docs/client_page.py")

    def _methods(self, node: ast.ClassDef) -> dict[str, Member]:
        found = {}
        for method in node.body:
            if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or method.name.startswith("_"):
                continue
            doc = ast.get_docstring(method) or ""
            decorators = " ".join(map(ast.unparse, method.decorator_list))
            is_of_c = re.search(rf"^    cdef [^#\n]*\b{method.name}\(", self._declared(node.name), re.M)
            if _INTERNAL.search(doc) or ".setter" in decorators or "overload" in decorators or is_of_c:
                continue
            signature = method.name if "property" in decorators else self._signature(method)
            found[method.name] = Member(signature, _one_line(doc))
        return found

    def _signature(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        """Return name, arguments with defaults, and result type; the docstring documents the rest."""
        arguments = node.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            one.annotation = None
        arguments.args = [one for one in arguments.args if one.arg not in {"self", "cls"}]
        result = ast.unparse(node.returns) if node.returns else ""
        begin = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
        end = f" -> {result}" if result not in {"", "None"} else ""
        signature = f"{begin}{node.name}({ast.unparse(arguments)}){end}"
        return re.sub(r"\w+", lambda word: self._known.get(word[0], word[0]), signature)

    def _declared(self, name: str) -> str:
        """Return the declaration of a compiled class."""
        found = re.search(rf"^cdef class {name}\b.*?(?=^\S|\Z)", self._pxd, re.M | re.S)
        return found[0] if found else ""

    def _attributes(self, node: ast.ClassDef) -> dict[str, Member]:
        """Return fields, enum members, and the public attributes of a compiled class."""
        found = {}
        for number, statement in enumerate(node.body):
            targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
            name = targets[0].id if isinstance(targets[0], ast.Name) else "_"
            if isinstance(statement, ast.Assign | ast.AnnAssign) and not name.startswith("_"):
                comment = self._lines[(statement.end_lineno or 1) - 1].partition("  # ")[2]
                meaning = comment or _string(node.body, number + 1) or _PLAIN.get(name, "")
                found[name] = Member(name, _one_line(meaning))
        seen = r"cdef (?:readonly|public) \S+ (\w+) *(?:# (.*))?"
        for name, comment in re.findall(seen, self._declared(node.name)):
            found[name] = Member(name, comment or _PLAIN.get(name, ""))
        return found


def rendered(described: Described) -> Iterator[str]:
    """Yield the section of one name."""
    yield f"### `{described.signature or described.name}`\n"
    doc = described.doc.replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")
    yield f"{_NOTES.get(described.name, '')} {doc}\n".lstrip()
    if described.members:
        yield "| member | meaning |\n|---|---|"
        for member in described.members.values():
            yield f"| `{_cell(member.signature)}` | {_cell(member.meaning)} |"
        yield ""


def _string(body: list[ast.stmt], number: int) -> str:
    """Return the string after a statement, "" if there is none."""
    statement = body[number] if number < len(body) else None
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
