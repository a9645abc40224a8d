"""A plugin-based, embeddable Aeron media driver and client for Python.

The public names are imported at their first use, which keeps the start-up of small programs short.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aeron_core.version import VERSION

if TYPE_CHECKING:
    from aeron_core import aio as aio
    from aeron_core import archive as archive
    from aeron_core import resilient as resilient
    from aeron_core.client.aeron import Aeron as Aeron
    from aeron_core.client.channel_status import ChannelStatus as ChannelStatus
    from aeron_core.client.connecting import connect as connect
    from aeron_core.client.counters import Counter as Counter
    from aeron_core.client.handlers import ClientHandlers as ClientHandlers
    from aeron_core.client.handlers import PublicationErrorFrame as PublicationErrorFrame
    from aeron_core.client.publications.claim import Claim as Claim
    from aeron_core.client.publications.exclusive_publication import (
        ExclusivePublication as ExclusivePublication,
    )
    from aeron_core.client.publications.publication import Publication as Publication
    from aeron_core.client.registrations import Registration as Registration
    from aeron_core.client.subscriptions.action import Action as Action
    from aeron_core.client.subscriptions.controlled_fragment_assembler import (
        ControlledFragmentAssembler as ControlledFragmentAssembler,
    )
    from aeron_core.client.subscriptions.fragment_assembler import FragmentAssembler as FragmentAssembler
    from aeron_core.client.subscriptions.header import Header as Header
    from aeron_core.client.subscriptions.image import Image as Image
    from aeron_core.client.subscriptions.message_batch import MessageBatch as MessageBatch
    from aeron_core.client.subscriptions.subscription import Subscription as Subscription
    from aeron_core.concurrent.counters import CountersReader as CountersReader
    from aeron_core.driver.media_driver import MediaDriver as MediaDriver
    from aeron_core.errors import AeronError as AeronError
    from aeron_core.errors import ClientError as ClientError
    from aeron_core.errors import ClientTimeoutError as ClientTimeoutError
    from aeron_core.errors import ClosedError as ClosedError
    from aeron_core.errors import ConfigurationError as ConfigurationError
    from aeron_core.errors import DriverError as DriverError
    from aeron_core.errors import DriverTimeoutError as DriverTimeoutError
    from aeron_core.errors import ErrorCode as ErrorCode
    from aeron_core.errors import MaxPositionExceededError as MaxPositionExceededError
    from aeron_core.errors import NoClaimError as NoClaimError
    from aeron_core.errors import NotConnectedError as NotConnectedError
    from aeron_core.errors import PluginError as PluginError
    from aeron_core.errors import RegistrationError as RegistrationError
    from aeron_core.errors import SendTimeoutError as SendTimeoutError
    from aeron_core.logbuffer.results import ADMIN_ACTION as ADMIN_ACTION
    from aeron_core.logbuffer.results import BACK_PRESSURED as BACK_PRESSURED
    from aeron_core.logbuffer.results import CLOSED as CLOSED
    from aeron_core.logbuffer.results import MAX_POSITION_EXCEEDED as MAX_POSITION_EXCEEDED
    from aeron_core.logbuffer.results import NO_PEER as NO_PEER
    from aeron_core.logbuffer.results import NOT_CONNECTED as NOT_CONNECTED
    from aeron_core.logbuffer.results import PEER_FULL as PEER_FULL
    from aeron_core.logbuffer.results import OfferResult as OfferResult
    from aeron_core.settings.models import ClientSettings as ClientSettings
    from aeron_core.settings.models import DriverSettings as DriverSettings
    from aeron_core.uri.builder import ChannelUriBuilder as ChannelUriBuilder
    from aeron_core.uri.channel_uri import ChannelUri as ChannelUri

__version__: Final = VERSION

#: The module that defines each public name.
_HOMES: Final = {
    "ADMIN_ACTION": "logbuffer.results",
    "Action": "client.subscriptions.action",
    "Aeron": "client.aeron",
    "AeronError": "errors",
    "BACK_PRESSURED": "logbuffer.results",
    "CLOSED": "logbuffer.results",
    "ChannelStatus": "client.channel_status",
    "ChannelUri": "uri.channel_uri",
    "ChannelUriBuilder": "uri.builder",
    "Claim": "client.publications.claim",
    "ClientError": "errors",
    "ClientHandlers": "client.handlers",
    "ClientSettings": "settings.models",
    "ClientTimeoutError": "errors",
    "ClosedError": "errors",
    "ConfigurationError": "errors",
    "ControlledFragmentAssembler": "client.subscriptions.controlled_fragment_assembler",
    "Counter": "client.counters",
    "CountersReader": "concurrent.counters",
    "DriverError": "errors",
    "DriverSettings": "settings.models",
    "DriverTimeoutError": "errors",
    "ErrorCode": "errors",
    "ExclusivePublication": "client.publications.exclusive_publication",
    "FragmentAssembler": "client.subscriptions.fragment_assembler",
    "Header": "client.subscriptions.header",
    "Image": "client.subscriptions.image",
    "MAX_POSITION_EXCEEDED": "logbuffer.results",
    "MaxPositionExceededError": "errors",
    "NO_PEER": "logbuffer.results",
    "PEER_FULL": "logbuffer.results",
    "MediaDriver": "driver.media_driver",
    "MessageBatch": "client.subscriptions.message_batch",
    "NOT_CONNECTED": "logbuffer.results",
    "NoClaimError": "errors",
    "NotConnectedError": "errors",
    "OfferResult": "logbuffer.results",
    "Publication": "client.publications.publication",
    "PublicationErrorFrame": "client.handlers",
    "PluginError": "errors",
    "Registration": "client.registrations",
    "RegistrationError": "errors",
    "SendTimeoutError": "errors",
    "Subscription": "client.subscriptions.subscription",
    "connect": "client.connecting",
}

#: Modules that are imported at their first use.
_MODULES: Final = ("aio", "archive", "resilient")

__all__ = ["__version__", "get_include", *_MODULES, *_HOMES]  # noqa: PLE0604 - all are strings


def get_include() -> str:
    """Return the folder that contains this package: the `include_path` for a plugin that cimports it.

    The C headers are in the folder `aeron_core/_native` below it.
    """
    return str(Path(__file__).parent.parent)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: must be one of {', '.join(__all__)}"
        )
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
