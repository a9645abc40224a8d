"""Settings: event log, induced loss for tests, termination, and settings that only the reference can use."""

from pathlib import Path
from typing import Annotated, Final

from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.variables import FilePath, Integer, Rate, Size, Switch, Text, Texts
from aeron_core.uri.packet_loss import IncomingLosses
from aeron_core.uri.values import INT64_MAX, INT64_MIN

_C_SYMBOL: Final = "it names a symbol of the C driver; plugins are Python entry points here"
_C_LIBRARY: Final = "C libraries are not loaded; plugins are Python entry points here"
_NO_INTERCEPTORS: Final = (
    "the reference has none for outgoing frames; debug_send_…_loss_rate drops them at random"
)
_VALIDATORS: Final = {
    "aeron_driver_termination_validator_default_allow": "allow",
    "aeron_driver_termination_validator_default_deny": "deny",
}


class DiagnosticSettings(SettingsFields):
    """Logging, loss for tests, termination, and settings without effect."""

    termination_validator: Annotated[
        str,
        Text("AERON_DRIVER_TERMINATION_VALIDATOR", aliases=_VALIDATORS, names=("deny", "allow"), strict=True),
    ] = setting("deny", description="Whether clients may stop the driver, with any token: deny or allow.")
    print_configuration: Annotated[bool, Switch("AERON_PRINT_CONFIGURATION")] = setting(
        False, description="Print the settings when the driver starts."
    )
    event_log: Annotated[str | None, Text("AERON_EVENT_LOG", optional=True)] = setting(
        None, description="Events to log: all, admin, a mask, or names or numbers, separated by commas."
    )
    event_log_disable: Annotated[str | None, Text("AERON_EVENT_LOG_DISABLE", optional=True)] = setting(
        None, description="Events to exclude from event_log."
    )
    event_log_filename: Annotated[Path | None, FilePath("AERON_EVENT_LOG_FILENAME", optional=True)] = setting(
        None, description="File of the event log; default: the standard output."
    )
    event_log_file_max_length: Annotated[
        int | None,
        Size("AERON_EVENT_LOG_FILE_MAX_LENGTH", 0, INT64_MAX, optional=True, quiet=True),
    ] = setting(
        None, description="Length at which the event log continues in a new file; default: unlimited."
    )
    udp_channel_outgoing_interceptors: Annotated[
        tuple[str, ...], Texts("AERON_UDP_CHANNEL_OUTGOING_INTERCEPTORS", without_effect=_NO_INTERCEPTORS)
    ] = setting((), description="Interceptors of outgoing frames.")
    udp_channel_incoming_interceptors: Annotated[
        tuple[str, ...], Texts("AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS")
    ] = setting((), description="Interceptors that drop incoming frames: loss, fixed-loss, multi-gap-loss.")
    loss_args: Annotated[
        str | None,
        Text("AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS", optional=True),
    ] = setting(None, description="Arguments of loss: rate=0.1|seed=1|recv-msg-mask=0xF.")
    fixed_loss_args: Annotated[
        str | None,
        Text(
            "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_FIXED_LOSS_ARGS",
            optional=True,
        ),
    ] = setting(None, description="Arguments of fixed-loss: term-id=0|term-offset=0|length=1408.")
    multi_gap_loss_args: Annotated[
        str | None,
        Text(
            "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MULTI_GAP_LOSS_ARGS",
            optional=True,
        ),
    ] = setting(
        None, description="Arguments of multi-gap-loss: term-id=0|gap-radix=4096|gap-length=64|total-gaps=2."
    )
    debug_send_data_loss_rate: Annotated[float, Rate("AERON_DEBUG_SEND_DATA_LOSS_RATE", quiet=True)] = (
        setting(0.0, description="Share of outgoing data frames to drop.")
    )
    debug_send_data_loss_seed: Annotated[
        int, Integer("AERON_DEBUG_SEND_DATA_LOSS_SEED", INT64_MIN, INT64_MAX, quiet=True)
    ] = setting(-1, description="Seed of debug_send_data_loss_rate, -1 for a random one.")
    debug_send_control_loss_rate: Annotated[float, Rate("AERON_DEBUG_SEND_CONTROL_LOSS_RATE", quiet=True)] = (
        setting(0.0, description="Share of outgoing control frames to drop.")
    )
    debug_send_control_loss_seed: Annotated[
        int, Integer("AERON_DEBUG_SEND_CONTROL_LOSS_SEED", INT64_MIN, INT64_MAX, quiet=True)
    ] = setting(-1, description="Seed of debug_send_control_loss_rate, -1 for a random one.")
    debug_receive_data_loss_rate: Annotated[float, Rate("AERON_DEBUG_RECEIVE_DATA_LOSS_RATE", quiet=True)] = (
        setting(0.0, description="Share of incoming data frames to drop.")
    )
    debug_receive_data_loss_seed: Annotated[
        int, Integer("AERON_DEBUG_RECEIVE_DATA_LOSS_SEED", INT64_MIN, INT64_MAX, quiet=True)
    ] = setting(-1, description="Seed of debug_receive_data_loss_rate, -1 for a random one.")
    debug_receive_control_loss_rate: Annotated[
        float, Rate("AERON_DEBUG_RECEIVE_CONTROL_LOSS_RATE", quiet=True)
    ] = setting(0.0, description="Share of incoming control frames to drop.")
    debug_receive_control_loss_seed: Annotated[
        int, Integer("AERON_DEBUG_RECEIVE_CONTROL_LOSS_SEED", INT64_MIN, INT64_MAX, quiet=True)
    ] = setting(-1, description="Seed of debug_receive_control_loss_rate, -1 for a random one.")
    agent_on_start_function: Annotated[
        str | None, Text("AERON_AGENT_ON_START_FUNCTION", optional=True, without_effect=_C_SYMBOL)
    ] = setting(None, description="Function that the C driver calls on each thread.")
    dynamic_libraries: Annotated[
        tuple[str, ...], Texts("AERON_DRIVER_DYNAMIC_LIBRARIES", without_effect=_C_LIBRARY)
    ] = setting((), description="Libraries that the C driver loads.")
    udp_channel_transport_bindings_media: Annotated[
        str, Text("AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MEDIA", without_effect=_C_SYMBOL)
    ] = setting("default", description="Socket functions of the C driver's sender and receiver.")
    conductor_udp_channel_transport_bindings_media: Annotated[
        str, Text("AERON_CONDUCTOR_UDP_CHANNEL_TRANSPORT_BINDINGS_MEDIA", without_effect=_C_SYMBOL)
    ] = setting("default", description="Socket functions of the C driver's conductor.")
    enable_experimental_features: Annotated[
        bool, Switch("AERON_ENABLE_EXPERIMENTAL_FEATURES", without_effect="no feature is experimental")
    ] = setting(False, description="Allow features that may still change.")

    @property
    def incoming_losses(self) -> IncomingLosses:
        """Loss generators for incoming frames; raises ConfigurationError for wrong names or arguments."""
        return IncomingLosses.parse(
            self.udp_channel_incoming_interceptors,
            {
                "loss": self.loss_args,
                "fixed-loss": self.fixed_loss_args,
                "multi-gap-loss": self.multi_gap_loss_args,
            },
        )
