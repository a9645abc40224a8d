"""Completion of values by a shell: channels, streams and counters of a running driver, directories, settings.

Values are completed by the name that the help shows for them, such as CHANNEL or STREAM_ID.
Invariants: a value that cannot be completed is none; no error reaches the shell. Channels and labels are those of any
client of a driver, and the script of zsh evaluates them: only characters that no shell interprets are passed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from enum import Enum
from pathlib import Path
from typing import Any, Final

from typer.core import CompletionItem  # type: ignore[attr-defined]

from aeron_core.cli.index import MEDIA_KEYS, PLUGINS
from aeron_core.cli.options import directory_of
from aeron_core.concurrent.counter_types import STREAM_TYPES, SYSTEM, owner_of
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.errors import AeronError
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.protocol.cnc import CNC_FILE
from aeron_core.settings.driver import DriverFields
from aeron_core.uri.keys import CHANNEL_KEYS

#: A value and its help.
Completion = tuple[str, str]

_BOOLEANS: Final = ("true", "false")
#: Values of the keys of channels that have few of them.
_KEY_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "cc": PLUGINS["congestion"]["aeron_congestion_controls"],
    "control-mode": ("manual", "dynamic", "response"),
    "fc": PLUGINS["flow_control"]["aeron_flow_controls"],
    **dict.fromkeys(("eos", "group", "rejoin", "reliable", "sparse", "ssc", "tether"), _BOOLEANS),
}
_SETTING: Final = "-D"
#: Command whose counters are those of its history.
_PLOT: Final = "plot"
#: A value without what a shell would evaluate, expand or split; `?` and `|` are part of channels.
_PLAIN: Final = re.compile(r"[\w./:?=|,@+%\[\]-]+")
#: What the help of a value may not have; brackets would be markup of rich.
_STRANGE: Final = re.compile(r"[^\w ./:?=|,@+%()-]")

#: Completes what a channel has after its last colon or equals sign, at which bash begins a new value: typer's own
#: script passes the parts as values of their own. Outside of quotes it escapes `|`, but not `?`, which bash keeps if no
#: file matches. `%` is doubled, because typer formats the text.
BASH_SCRIPT: Final = r"""
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" number reply is_quoted= option=
    local word="${line##*[[:space:]]}" part="${COMP_WORDS[COMP_CWORD]}"
    [[ $part == -D* ]] && part="${part#-D}" option=-D
    [[ $word == -D* ]] && word="${word#-D}" && line="${line%%"$word"} $word"
    [[ -n $word ]] || line+="''"
    [[ $word == --*=* ]] && word="${word#*=}"
    [[ $part == [:=] ]] && part=
    mapfile -t COMPREPLY < <(env COMP_WORDS="$line" COMP_CWORD=-1 %(autocomplete_var)s=complete_bash "$1")
    [[ $word == [\'\"]* ]] && is_quoted=1 || word="${word//\\/}" part="${part//\\/}"
    for number in "${!COMPREPLY[@]}"; do
        reply="${COMPREPLY[number]:${#word}-${#part}}"
        [[ -n $is_quoted ]] || reply="${reply//|/\\|}"
        [[ -n $reply ]] && COMPREPLY[number]="$option$reply" || unset "COMPREPLY[number]"
    done
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[*]} == *[=?\|:] ]] && compopt -o nospace
    return 0
}

complete -o default -F %(complete_func)s %(prog_name)s
"""

#: Reads values as typer prints them for fish, a line each with a tab before the help, so that nothing is evaluated;
#: typer's own script evaluates the reply. No space follows a value that continues.
ZSH_SCRIPT: Final = r"""
#compdef %(prog_name)s

%(complete_func)s() {
    local line value
    local -a closed open lines typed
    typed=("${(@)words[1,CURRENT]}")
    [[ $PREFIX == -D* ]] && typed[-1]="-D ${typed[-1]#-D}" && compset -P 1 '-D'
    lines=("${(@f)$(env _TYPER_COMPLETE_ARGS="${(j: :)typed}" _TYPER_COMPLETE_FISH_ACTION=get-args \
        %(autocomplete_var)s=complete_fish %(prog_name)s 2>/dev/null)}")
    for line in "${(@)lines}"; do
        value="${line%%%%$'\t'*}"
        [[ -n $value ]] || continue
        [[ $line == *$'\t'* ]] && line="${value//:/\\:}:${line#*$'\t'}" || line="${value//:/\\:}"
        [[ $value == *[=?\|:] ]] && open+=("$line") || closed+=("$line")
    done
    if (( ! ${#closed} && ! ${#open} )); then
        _files
        return
    fi
    [[ $PREFIX == --*=* ]] && compset -P 1 '--*='
    _describe -t values value closed -- open -S ''
}

compdef %(complete_func)s %(prog_name)s
# A file of `fpath` is loaded by the first completion, which it has to answer too.
[[ ${funcstack[1]} == _%(prog_name)s ]] && %(complete_func)s "$@"
"""

#: Runs the program once for each completion, typer's own script twice. Fish has no option against the space after the
#: only value, but adds none after the common beginning of several ones: a value that ends with `?` is shown with what
#: follows it.
FISH_SCRIPT: Final = r"""
function %(complete_func)s_values --argument-names line
    env %(autocomplete_var)s=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args _TYPER_COMPLETE_ARGS="$line" \
        %(prog_name)s 2>/dev/null
end

function %(complete_func)s
    set --local token (commandline --current-token --cut-at-cursor)
    set --local line (commandline --current-process --cut-at-cursor)
    set --local option (string match --regex -- '^(?:--[^=]*=|-D)' "$token")
    set --local before (string sub --length (math (string length -- "$line") - (string length -- "$token")) -- "$line")
    if test "$option" = -D
        set line "$before-D "(string sub --start 3 -- "$token")
    end
    set --local reply (%(complete_func)s_values "$line" | string match --regex -- '.+')
    if test (count $reply) -eq 0
        __fish_complete_path "$token"
        return
    end
    if test (count $reply) -eq 1; and string match --quiet --regex -- '^[^\t]*[?|]$' $reply
        set --append reply (%(complete_func)s_values "$before$option'$reply" | string match --regex -- '.+')
    end
    string replace --regex -- '^' "$option" $reply
end

complete --command %(prog_name)s --no-files --arguments "(%(complete_func)s)"
"""


def use_own_scripts() -> None:
    """Let typer show and install the scripts of this module."""
    from typer import _completion_classes, _completion_shared  # noqa: PLC0415 - private to typer: only for these options

    for shell, script, kind in (
        ("bash", BASH_SCRIPT, _completion_classes.BashComplete),
        ("zsh", ZSH_SCRIPT, _completion_classes.ZshComplete),
        ("fish", FISH_SCRIPT, _completion_classes.FishComplete),
    ):
        _completion_shared._completion_scripts[shell] = script
        kind.source_template = script


def complete_values(params: list[Any]) -> list[Any]:
    """Let a shell complete the values of parameters by their names; return `params`."""
    for param in params:
        complete = _COMPLETERS.get(param.metavar or (param.name or "").upper())
        if complete is not None:
            # Private to typer, as what `Option(autocompletion=...)` sets.
            param._custom_shell_complete = _items_of(complete)
    return params


def completed_settings(incomplete: str) -> list[CompletionItem]:
    """Return the settings that begin with the text after -D, for a command that has this option."""
    text = incomplete.removeprefix(_SETTING)
    found = [value for value, _ in settings(None, text) if value.startswith(text)]
    return [CompletionItem(f"{_SETTING}{value}") for value in found]


def _items_of(complete: Callable[[Any, str], Iterable[Completion]]) -> Callable[..., list[CompletionItem]]:
    def items(context: Any, _param: Any, incomplete: str) -> list[CompletionItem]:
        found: dict[str, str] = {}
        for value, help_ in complete(context, incomplete):
            if value.startswith(incomplete) and _PLAIN.fullmatch(value):
                found.setdefault(value, _plain(help_))
        return [CompletionItem(value, help=help_) for value, help_ in found.items()]

    return items


def _plain(text: str) -> str:
    """Return a text for people without characters that a shell or rich would interpret."""
    return _STRANGE.sub("_", text.replace("[", "(").replace("]", ")"))


def channels(context: Any, incomplete: str) -> Iterator[Completion]:
    """Yield channels of the running driver, media, and keys and values of the channel that is typed."""
    before, separator, last = _split(incomplete)
    if not separator:
        for medium in MEDIA_KEYS:
            yield (f"aeron:{medium}" if medium == "ipc" else f"aeron:{medium}?", "")
    elif "=" in last:
        key, _, _ = last.partition("=")
        for value in _KEY_VALUES.get(key, ()):
            yield f"{before}{key}={value}", ""
    else:
        medium = before.partition(":")[2].partition("?")[0]
        typed = {part.partition("=")[0] for part in re.split(r"[?|]", before)[1:]}
        for key in sorted((CHANNEL_KEYS | MEDIA_KEYS.get(medium, frozenset())) - typed):
            yield f"{before}{key}=", ""
    for record in _counters(context):
        owner = owner_of(record) if record.type_id in STREAM_TYPES else None
        if owner is not None:
            yield owner.channel, f"stream {owner.stream_id}"


def _split(text: str) -> tuple[str, str, str]:
    """Return a channel up to its last `?` or `|`, this separator, and what follows it."""
    position = max(text.rfind("?"), text.rfind("|"))
    return (text[: position + 1], text[position], text[position + 1 :]) if position >= 0 else ("", "", text)


def stream_ids(context: Any, _incomplete: str) -> Iterator[Completion]:
    """Yield the stream ids of the running driver."""
    for record in _counters(context):
        owner = owner_of(record) if record.type_id in STREAM_TYPES else None
        if owner is not None:
            yield str(owner.stream_id), owner.channel


def session_ids(context: Any, _incomplete: str) -> Iterator[Completion]:
    """Yield the session ids of the running driver."""
    for record in _counters(context):
        owner = owner_of(record) if record.type_id in STREAM_TYPES else None
        if owner is not None:
            yield str(owner.session_id), f"stream {owner.stream_id} of {owner.channel}"


def counter_types(context: Any, _incomplete: str) -> Iterator[Completion]:
    """Yield the types of the counters of the running driver, by the beginning of their labels."""
    for record in _counters(context):
        if record.type_id == SYSTEM:
            yield str(SYSTEM), "system counters"
        else:
            yield record.label.partition(":")[0].partition(" (")[0], ""


def counter_labels(context: Any, _incomplete: str) -> Iterator[Completion]:
    """Yield regular expressions for the names of the counters of the running driver, without spaces."""
    for record in _counters(context):
        name = record.label.partition(":")[0]
        # A dot matches any character: a space would end the value in a shell.
        yield re.sub(r"[^\w-]+", ".", name), record.label


def directories(_context: Any, incomplete: str) -> Iterator[Completion]:
    """Yield the directories of drivers in the folder of the user's own, or in the one that is typed."""
    typed, separator, _ = incomplete.rpartition("/")
    folder = Path(typed or "/") if separator else directory_of(None).parent
    for path in sorted(folder.glob(f"*/{CNC_FILE}")):
        yield str(path.parent), "directory of a driver"


def settings(_context: Any, incomplete: str) -> Iterator[Completion]:
    """Yield names of settings, or the values of one that has few."""
    name, separator, _ = incomplete.partition("=")
    for field in DriverFields.fields:
        variable = DriverFields.variable(field)
        written = variable.name.lower().replace("_", ".")
        if not separator:
            yield f"{written}=", ""
        elif written == name:
            enumeration = getattr(variable, "enumeration", None)
            values = (
                [str(member.value) for member in enumeration]
                if isinstance(enumeration, type) and issubclass(enumeration, Enum)
                else []
            )
            for value in values:
                yield f"{written}={value}", ""


def recording_ids(context: Any, _incomplete: str) -> Iterator[Completion]:
    """Yield the ids of the recordings of the archive that the command line names; none of an archive elsewhere."""
    folder = context.params.get("uri") or ""
    # A shell waits: an archive elsewhere may need seconds, and credentials.
    if not folder or not Path(folder).is_dir():
        return
    from aeron_core.recording.storage.archive import Archive  # noqa: PLC0415 - only for this value

    with suppress(AeronError, OSError), closing(Archive.open(folder)) as archive:
        for recording in archive.recordings():
            descriptor = recording.descriptor
            yield str(recording.recording_id), f"stream {descriptor.stream_id} of {descriptor.channel}"


def _counters(context: Any) -> Iterator[CounterRecord]:
    """Yield the counters of the driver, or of the history, that the command line names; none if there is none."""
    # A driver may end meanwhile, or have damaged files. pyarrow may be missing.
    with suppress(AeronError, OSError):
        if context.info_name == _PLOT:
            # An argument before an option without its value is not parsed.
            for file in [context.params.get("file"), *context.args][-1:]:
                yield from _recorded_counters(file)
            return
        yield from DriverFiles.open(directory_of(context.params.get("aeron_dir"))).counters


def _recorded_counters(file: str | Path | None) -> tuple[CounterRecord, ...]:
    """Return the counters of the first snapshot of a history, not of all of a long one: a shell waits."""
    from aeron_core.observation.history import CounterHistory  # noqa: PLC0415 - imports pyarrow, only for this value

    snapshots = () if file is None else CounterHistory(Path(file)).snapshots()
    return next((each.counters for each in snapshots), ())


_COMPLETERS: Final[Mapping[str, Callable[[Any, str], Iterable[Completion]]]] = {
    "CHANNEL": channels,
    "DIR": directories,
    "NAME=VALUE": settings,
    "RECORDING_ID": recording_ids,
    "REGEX": counter_labels,
    "SESSION_ID": session_ids,
    "STREAM_ID": stream_ids,
    "TYPE": counter_types,
}
