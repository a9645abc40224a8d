"""Reference of commands, generated from their help texts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from aeron_core.cli.command import usage_of


def command_pages(path: str, command: object) -> Iterator[str]:
    """Yield a section for each command below `command`."""
    for name, child in getattr(command, "commands", {}).items():
        here = f"{path} {name}"
        if getattr(child, "commands", None):
            yield from command_pages(here, child)
            continue
        arguments = [param for param in child.params if param.param_type_name == "argument"]
        options = [param for param in child.params if param.param_type_name == "option"]
        usage = " ".join([here, "[OPTIONS]", *map(usage_of, arguments)])
        yield f"## {here}\n\n```text\n{usage}\n```\n\n{inspect.cleandoc(child.help or '')}\n"
        yield "| option | default | meaning |\n|---|---|---|"
        for param in options:
            names = ", ".join(f"`{text}`" for text in [*param.opts, *param.secondary_opts])
            if param.metavar:
                names += f" `{param.metavar}`"
            default = (
                ""
                if param.default in (None, False, "", []) or callable(param.default)
                else f"`{param.default}`"
            )
            yield f"| {names} | {default} | {param.help or ''} |"
        yield ""
