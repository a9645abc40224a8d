"""Registry of all installed plugins and of what they provide by name.

Not here: the hooks themselves (spi.hookspecs), and the checks of one plugin (installed_plugin).
Invariant: a name of a table belongs to one plugin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from weakref import ref

import pluggy

from aeron_core._native.datagrams import DatagramChannel
from aeron_core.entry_points import entry_points
from aeron_core.errors import AeronError, PluginError
from aeron_core.installed_plugin import (
    InstalledPlugin,
    call_table,
    check_compiled_classes,
    check_spi_version,
    import_entry,
)
from aeron_core.spi import hookspecs
from aeron_core.spi.congestion_control import adapt_congestion_control
from aeron_core.spi.flow_control import adapt_flow_control
from aeron_core.spi.idle_strategy import adapt_idle_strategy
from aeron_core.spi.protection import adapt_datagram_protector
from aeron_core.version import DISTRIBUTION

if TYPE_CHECKING:
    import typer

    from aeron_core._native.address import SocketAddress
    from aeron_core.settings.model import SettingsModel
    from aeron_core.spi.congestion_control import CongestionControl, CongestionControlParams
    from aeron_core.spi.endpoints import ChannelEndpoint
    from aeron_core.spi.flow_control import FlowControl, FlowControlParams
    from aeron_core.spi.idle_strategy import IdleStrategy, IdleStrategyParams
    from aeron_core.spi.media import MediaTransport
    from aeron_core.spi.name_resolver import NameResolver, NameResolverParams
    from aeron_core.spi.protection import DatagramProtector, ProtectorParams

#: Hook of each table, with a noun for its entries in messages.
TABLES: Mapping[str, str] = {
    "aeron_media_transports": "medium",
    "aeron_flow_controls": "flow control",
    "aeron_congestion_controls": "congestion control",
    "aeron_name_resolvers": "name resolver",
    "aeron_idle_strategies": "idle strategy",
    "aeron_datagram_protectors": "datagram protector",
    "aeron_settings": "section of settings",
}
#: All hooks.
HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("aeron_"))
#: Why a driver does not find a plugin that is installed, as the end of an error message.
LOADED_AT_START: Final = "a driver loads plugins only when it starts: restart it after you have installed one"
Report = Callable[[BaseException], None]
Endpoint = TypeVar("Endpoint", bound="ChannelEndpoint")
_Product = TypeVar("_Product")


class _PluginManager(pluggy.PluginManager):
    """A manager that passes to pluggy only attributes that may be marked as hooks.

    pluggy examines every attribute of a plugin without evaluating descriptors, which is slow, and a module has mostly
    imports and constants: with all attributes, this took most of the time in which a driver starts.
    """

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        if _may_be_marked(plugin, name, f"{self.project_name}_impl"):
            return super().parse_hookimpl_opts(plugin, name)
        return None

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> Any:
        if _may_be_marked(module_or_class, name, f"{self.project_name}_spec"):
            return super().parse_hookspec_opts(module_or_class, name)
        return None


def _may_be_marked(plugin: object, name: str, mark: str) -> bool:
    # A decorator of pluggy sets the mark as an attribute of the function.
    return not isinstance(plugin, ModuleType) or mark in getattr(vars(plugin).get(name), "__dict__", ())


class Registry:
    """The pluggy manager and the merged tables; once it is loaded, any thread may use it.

    Methods raise PluginError for a name that no plugin provides, for a plugin that is broken, and for two that clash;
    an AeronError that a plugin's factory raises, such as ChannelUriError, is passed on.
    """

    def __init__(self) -> None:
        self._manager = _PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._installed: dict[tuple[str, str], InstalledPlugin] = {}
        self._tables: dict[str, dict[str, tuple[Any, InstalledPlugin]]] = {hook: {} for hook in TABLES}
        self._media: dict[str, MediaTransport] = {}

    @classmethod
    def load(cls, extra_plugins: Sequence[object] = ()) -> Self:
        """Return a registry of the plugins of all distributions, then `extra_plugins` (modules or objects)."""
        registry = cls()
        for entry_point in entry_points(group=hookspecs.PROJECT):
            registry._load_entry_point(entry_point)
        for plugin in extra_plugins:
            registry.register(plugin)
        return registry

    def _load_entry_point(self, entry_point: Any) -> None:
        name, version = entry_point.dist.name, entry_point.dist.version
        installed = InstalledPlugin(entry_point.name, name, version)
        if (name, entry_point.name) in self._installed:
            return  # the metadata of an editable install may be found twice
        try:
            plugin = entry_point.load()
        except Exception as error:
            raise PluginError(
                f"plugin {entry_point.name!r} of distribution {name!r} cannot be imported "
                f"({entry_point.value}): {type(error).__name__}: {error}; {installed.remedy}"
            ) from error
        self._register(plugin, installed)

    def register(self, plugin: object, name: str | None = None) -> None:
        """Add a plugin without a distribution, such as one of a test; do nothing if it is registered already."""
        if self._manager.is_registered(plugin):
            return
        own_name = name or str(getattr(plugin, "__name__", type(plugin).__name__))
        self._register(plugin, InstalledPlugin(own_name, "(registered by hand)", ""))

    def _register(self, plugin: object, installed: InstalledPlugin) -> None:
        check_spi_version(plugin, installed)
        self._check_hooks(plugin, installed)
        try:
            self._manager.register(plugin, name=f"{installed.distribution}:{installed.name}")
            self._manager.check_pending()
        except (ValueError, pluggy.PluginValidationError) as error:
            raise PluginError(
                f"{installed} cannot be registered: {error}; correct its name, or its hooks by "
                "aeron_core.spi.hookspecs, or install a version of it for this aeron-core"
            ) from error
        self._installed[installed.distribution, installed.name] = installed
        for hook in TABLES:
            implementation = getattr(plugin, hook, None)
            if implementation is not None:
                self._merge(hook, implementation, installed)

    def _check_hooks(self, plugin: object, installed: InstalledPlugin) -> None:
        """Raise PluginError if `plugin` implements a hook that does not exist, with the most similar hook or all."""
        for name in dir(plugin):
            options = self._manager.parse_hookimpl_opts(plugin, name)
            if options is None or options.get("optionalhook"):
                continue
            hook = options.get("specname") or name
            if hook not in HOOKS:
                import difflib  # noqa: PLC0415 - lazy: only mistakes need it

                close = difflib.get_close_matches(hook, HOOKS, n=1)
                hint = f"did you mean {close[0]}?" if close else f"must be one of {', '.join(HOOKS)}"
                raise PluginError(f"{installed} implements {hook}, which is not a hook: {hint}")

    def _merge(
        self, hook: str, implementation: Callable[[], Mapping[str, Any]], installed: InstalledPlugin
    ) -> None:
        table = self._tables[hook]
        for name, factory in call_table(hook, implementation, installed).items():
            if name in table:
                raise PluginError(
                    f"two plugins provide the {TABLES[hook]} {name!r}: {table[name][1]} and {installed}: "
                    f"uninstall one of them, or give its {TABLES[hook]} another name"
                )
            table[name] = (factory, installed)
            installed.provides.setdefault(hook, []).append(name)

    @property
    def hook(self) -> Any:
        """The hook relay of pluggy, for calls of event hooks."""
        return self._manager.hook

    def add_commands(self, app: typer.Typer) -> None:
        """Let each plugin add its commands to `app`; raise PluginError for the first that fails."""
        for one in self._manager.hook.aeron_cli.get_hookimpls():
            try:
                one.function(*[app] * len(one.argnames))
            except Exception as error:
                distribution, _, name = one.plugin_name.partition(":")
                raise PluginError(
                    f"aeron_cli of plugin {name!r} of distribution {distribution!r} failed: "
                    f"{type(error).__name__}: {error}; repair or uninstall the plugin"
                ) from error

    def plugins(self) -> list[InstalledPlugin]:
        """Return all plugins in the order in which they were loaded."""
        return list(self._installed.values())

    def names(self, hook: str) -> list[str]:
        """Return the sorted names in the table of `hook`, a key of TABLES."""
        return sorted(self._tables[hook])

    def check(self, hook: str, text: str) -> None:
        """Raise PluginError unless `text`, a name optionally followed by a comma and options, names an entry.

        If there are options, and the entry has a function `check_options`, call it with them: it may raise an error.
        """
        name, _, options = text.partition(",")
        self._find(hook, name)
        if options:
            check_options = getattr(self._import(hook, name)[0], "check_options", None)
            if check_options is not None:
                check_options(options)

    def check_spi_version(self, hook: str, text: str) -> None:
        """Raise PluginError if the entry that `text` names, as for `check`, is of another SPI version or broken.

        Imports the entry, but does not call it: what a factory in plain Python returns is checked when it is made.
        """
        name = text.partition(",")[0]
        # Those of this distribution are built with it, and a driver that starts must not import what it does not use.
        if self._find(hook, name)[1].distribution == DISTRIBUTION:
            return
        entry, installed = self._import(hook, name)
        if isinstance(entry, type):
            check_compiled_classes(entry, installed)

    def _find(self, hook: str, name: str) -> tuple[Any, InstalledPlugin]:
        found = self._tables[hook].get(name)
        if found is None:
            names = ", ".join(self.names(hook)) or "none"
            raise PluginError(
                f"no {TABLES[hook]} {name!r}; installed: {names}; use one of these, or install the plugin that has it; "
                f"{LOADED_AT_START}"
            )
        return found

    def _import(self, hook: str, name: str) -> tuple[Any, InstalledPlugin]:
        """Return an entry of a table and its plugin; import the entry if the table has it as text."""
        entry, installed = self._find(hook, name)
        if isinstance(entry, str):
            entry = import_entry(entry, f"{TABLES[hook]} {name!r}", installed)
            self._tables[hook][name] = (entry, installed)
        return entry, installed

    def is_imported(self, hook: str, name: str) -> bool:
        """Return whether an entry can be used without an import, also if there is no such entry."""
        entry, _ = self._tables[hook].get(name, (None, None))
        return not isinstance(entry, str) or entry.partition(":")[0] in sys.modules

    def import_entry(self, hook: str, name: str) -> None:
        """Import an entry of a table, if that is needed; raise PluginError if there is none or it is broken."""
        self._import(hook, name)

    def _make(self, hook: str, name: str, *args: Any) -> Any:
        factory, installed = self._import(hook, name)
        try:
            made = factory(*args)
        except AeronError:
            raise  # deliberate: a wrong channel or setting, with the error code for the client
        except Exception as error:
            # The factory of a medium has no arguments.
            remedy = f"check its options, or {installed.remedy}" if args else installed.remedy
            raise PluginError(
                f"{TABLES[hook]} {name!r} of {installed} failed: {type(error).__name__}: {error}; {remedy}"
            ) from error
        check_compiled_classes(type(made), installed)
        return made

    def media(self, name: str) -> MediaTransport:
        """Return the medium with the name used in `aeron:<name>` of a channel URI, created at the first call."""
        if name not in self._media:
            self._media[name] = self._make("aeron_media_transports", name)
        return self._media[name]

    def check_endpoint(self, medium: str, endpoint: object, base: type[Endpoint]) -> Endpoint:
        """Return an endpoint that a medium opened; raise PluginError if it is no `base`, or of another SPI version.

        Nothing of a refused endpoint is called, not even `close`: its methods may be at other offsets.
        """
        return self._check_product("aeron_media_transports", medium, endpoint, base)

    def _check_product(self, hook: str, name: str, product: object, base: type[_Product]) -> _Product:
        """Check what an object of a table returned to be called by compiled code, as its own class is checked."""
        _, installed = self._find(hook, name)
        if not isinstance(product, base):
            raise PluginError(
                f"{TABLES[hook]} {name!r} of {installed} returned {product!r}: must be a {base.__qualname__}; "
                f"{installed.remedy}"
            )
        check_compiled_classes(type(product), installed)
        return product

    def flow_control(self, name: str, params: FlowControlParams, report: Report) -> FlowControl:
        """Return a new strategy; one in plain Python is wrapped, and `report` gets its first exception."""
        return adapt_flow_control(self._make("aeron_flow_controls", name, params), report)

    def congestion_control(
        self, name: str, params: CongestionControlParams, report: Report
    ) -> CongestionControl:
        """Return a new strategy; one in plain Python is wrapped, and `report` gets its first exception."""
        return adapt_congestion_control(self._make("aeron_congestion_controls", name, params), report)

    def name_resolver(self, name: str, params: NameResolverParams) -> NameResolver:
        """Return a new name resolver; its exceptions are not caught here."""
        resolver: NameResolver = self._make("aeron_name_resolvers", name, params)
        return resolver

    def datagram_protector(self, name: str, params: ProtectorParams, report: Report) -> DatagramProtector:
        """Return a new protector; one in plain Python is wrapped, and `report` gets its first exception."""
        hook = "aeron_datagram_protectors"
        protector = adapt_datagram_protector(self._make(hook, name, params), params, report)
        # Weak, because keys must not stay in memory until the garbage collector finds a cycle.
        reference = ref(protector)

        def checked(
            datagrams: DatagramChannel, reply_address: SocketAddress | None = None
        ) -> DatagramChannel:
            owner = reference()
            assert owner is not None, "called after the endpoint of the protector was closed"
            product = type(owner).protect(owner, datagrams, reply_address)
            return self._check_product(hook, name, product, DatagramChannel)

        # An attribute, not a wrapper: the driver asks the class which methods it overrides.
        protector.protect = checked  # type: ignore[method-assign]
        return protector

    def section_names(self) -> list[str]:
        """Return the names of the plugins' sections of settings, sorted."""
        return self.names("aeron_settings")

    def section_model(self, name: str) -> type[SettingsModel]:
        """Return the model of a plugin's section of settings.

        Raises PluginError also if it is not a class derived from SettingsModel.
        """
        from aeron_core.settings.model import SettingsModel  # noqa: PLC0415 - imports pydantic: only if a section is used

        model, installed = self._import("aeron_settings", name)
        if not (isinstance(model, type) and issubclass(model, SettingsModel)):
            raise PluginError(
                f"section of settings {name!r} of {installed} is {model!r}: must be a class derived from "
                f"aeron_core.settings.SettingsModel; {installed.remedy}"
            )
        return model

    def idle_strategy(self, name: str, params: IdleStrategyParams) -> IdleStrategy:
        """Return a new idle strategy; one in plain Python is wrapped."""
        return adapt_idle_strategy(self._make("aeron_idle_strategies", name, params))
