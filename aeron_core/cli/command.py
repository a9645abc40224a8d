"""Class of the commands of this distribution: they convert values without pydantic, and their help shows no types."""

from __future__ import annotations

from typing import Any

from typer.core import CompletionItem, TyperCommand  # type: ignore[attr-defined]

from aeron_core.cli.conversion import replace_conversions


class CoreCommand(TyperCommand):
    """A command of `aeron-core`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; those of the types of `conversion` convert their values without pydantic."""
        params = replace_conversions(super().get_params(ctx))
        if ctx.resilient_parsing:
            from aeron_core.cli.completion import complete_values  # noqa: PLC0415 - only while a shell completes

            return complete_values(params)
        return params

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        """Return the options that begin with `incomplete`, and after -D the settings."""
        items: list[CompletionItem] = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-D") and any("-D" in param.opts for param in self.params):
            from aeron_core.cli.completion import completed_settings  # noqa: PLC0415 - only while a shell completes

            items += completed_settings(incomplete)
        return items

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, as in `[OPTIONS] CHANNEL [STREAM_ID]...`."""
        arguments = [usage_of(param) for param in self.params if param.param_type_name == "argument"]
        return [self.options_metavar or "", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options, each with the name of its value."""
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            is_argument = param.param_type_name == "argument"
            rows[param.param_type_name].append((name_of(param) if is_argument else record[0], record[1]))
        for kind, found in rows.items():
            if found:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(found)


def name_of(argument: Any) -> str:
    """Return the name of an argument, such as STREAM_ID."""
    return str(argument.metavar or argument.name.upper())


def usage_of(argument: Any) -> str:
    """Return an argument as a usage line has it: STREAM_ID, [STREAM_ID], STREAM_ID... or [STREAM_ID]..."""
    name = name_of(argument) if argument.required else f"[{name_of(argument)}]"
    return f"{name}..." if argument.nargs != 1 else name
