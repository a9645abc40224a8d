"""All settings of the media driver without pydantic, and their consistency rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aeron_core._native import wire
from aeron_core.errors import ConfigurationError
from aeron_core.file_access import FileAccess
from aeron_core.settings.buffers import BufferSettings
from aeron_core.settings.diagnostics import DiagnosticSettings
from aeron_core.settings.directory import DirectorySettings
from aeron_core.settings.idle import parse_backoff_args, parse_sleep_ns
from aeron_core.settings.network import NetworkSettings, SecuritySettings
from aeron_core.settings.resolvers import ResolverSettings
from aeron_core.settings.strategies import StrategySettings
from aeron_core.settings.streams import StreamSettings
from aeron_core.settings.threads import ThreadingMode, ThreadSettings
from aeron_core.settings.timeouts import TimeoutSettings
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults
from aeron_core.uri.parameters import MTU_ALLOWED
from aeron_core.uri.values import INT32_MAX, INT64_MAX

# Bytes of metadata per byte of values: each counter has one record in each section.
_METADATA_TO_VALUES: Final = wire.COUNTER_METADATA_LENGTH // wire.COUNTER_VALUE_LENGTH

_ONE_NETWORK_THREAD: Final = (ThreadingMode.SHARED, ThreadingMode.SHARED_NETWORK)
_IDLE_STRATEGIES: Final = (
    "conductor_idle_strategy",
    "sender_idle_strategy",
    "receiver_idle_strategy",
    "sharednetwork_idle_strategy",
    "shared_idle_strategy",
)


class DriverFields(
    # Fields are listed from the last base to the first, as pydantic orders them.
    DiagnosticSettings,
    ThreadSettings,
    SecuritySettings,
    ResolverSettings,
    StrategySettings,
    StreamSettings,
    NetworkSettings,
    TimeoutSettings,
    BufferSettings,
    DirectorySettings,
):
    """Settings of a media driver as a plain object; `DriverSettings` is the model for programs."""

    model_name = "DriverSettings"

    def check_consistency(self) -> None:
        """See `SettingsFields.check_consistency`."""
        for check in _CHECKS:
            check(self)

    @property
    def file_access(self) -> FileAccess:
        """Mode and group of the driver's files; raises ConfigurationError for a group that cannot be given to them."""
        return FileAccess.of(self.dir_mode, self.dir_group or "")

    @property
    def publication_defaults(self) -> PublicationDefaults:
        """Defaults of publications for parameters that a URI does not have."""
        return PublicationDefaults(
            term_length=self.term_buffer_length,
            ipc_term_length=self.ipc_term_buffer_length,
            mtu=self.mtu_length,
            ipc_mtu=self.ipc_mtu_length,
            publication_window_length=self.publication_term_window_length,
            ipc_publication_window_length=self.ipc_publication_term_window_length,
            linger_timeout_ns=self.publication_linger_timeout_ns,
            untethered_window_limit_timeout_ns=self.untethered_window_limit_timeout_ns,
            untethered_linger_timeout_ns=self.untethered_linger_timeout_ns,
            untethered_resting_timeout_ns=self.untethered_resting_timeout_ns,
            max_resend=self.max_resend,
            is_sparse=self.term_buffer_sparse_file,
            spies_simulate_connection=self.spies_simulate_connection,
            socket_sndbuf_length=self.socket_so_sndbuf_length,
        )

    @property
    def subscription_defaults(self) -> SubscriptionDefaults:
        """Defaults of subscriptions for parameters that a URI does not have."""
        return SubscriptionDefaults(
            is_reliable=self.reliable_stream,
            is_sparse=self.term_buffer_sparse_file,
            is_tether=self.tether_subscriptions,
            is_rejoin=self.rejoin_stream,
            group=self.receiver_group_consideration,
            group_tag=self.receiver_group_tag,
            initial_window_length=self.rcv_initial_window_length,
            socket_rcvbuf_length=self.socket_so_rcvbuf_length,
            untethered_window_limit_timeout_ns=self.untethered_window_limit_timeout_ns,
            untethered_linger_timeout_ns=self.untethered_linger_timeout_ns,
            untethered_resting_timeout_ns=self.untethered_resting_timeout_ns,
        )

    @property
    def cnc_file_length(self) -> int:
        """Length of cnc.dat in bytes, before it is aligned to file_page_size."""
        return (
            wire.CNC_META_DATA_LENGTH
            + self.conductor_buffer_length
            + self.clients_buffer_length
            + self.counters_buffer_length * (1 + _METADATA_TO_VALUES)
            + self.error_buffer_length
        )


def _check_powers_of_two(settings: DriverFields) -> None:
    for name in ("term_buffer_length", "ipc_term_buffer_length"):
        length: int = getattr(settings, name)
        if not _is_power_of_two(length) or not wire.TERM_MIN_LENGTH <= length <= wire.TERM_MAX_LENGTH:
            raise _fault(settings, name, "must be a power of two from 64k to 1g")
    if not _is_power_of_two(settings.file_page_size) or settings.file_page_size > wire.PAGE_MAX_SIZE:
        raise _fault(settings, "file_page_size", "must be a power of two from 4k to 1g")
    if not _is_power_of_two(settings.conductor_buffer_length - wire.RING_TRAILER_LENGTH):
        raise _fault(
            settings,
            "conductor_buffer_length",
            f"must be a power of two from 1m to 1g, plus {wire.RING_TRAILER_LENGTH} bytes, such as "
            f"{2**20 + wire.RING_TRAILER_LENGTH}",
        )
    if not _is_power_of_two(settings.clients_buffer_length - wire.BROADCAST_TRAILER_LENGTH):
        raise _fault(
            settings,
            "clients_buffer_length",
            f"must be a power of two from 1m to 1g, plus {wire.BROADCAST_TRAILER_LENGTH} bytes, such as "
            f"{2**20 + wire.BROADCAST_TRAILER_LENGTH}",
        )


def _check_losses(settings: DriverFields) -> None:
    # The property parses the arguments of the losses, and raises if one is wrong.
    _ = settings.incoming_losses


def _check_mtu(settings: DriverFields) -> None:
    for name in ("mtu_length", "ipc_mtu_length"):
        length: int = getattr(settings, name)
        if not wire.MIN_MTU_LENGTH <= length <= wire.MAX_UDP_PAYLOAD_LENGTH or length % wire.FRAME_ALIGNMENT:
            raise _fault(settings, name, MTU_ALLOWED)


def _check_cnc_file_length(settings: DriverFields) -> None:
    if settings.cnc_file_length > INT32_MAX:
        raise ConfigurationError(
            f"CnC file length {settings.cnc_file_length} of "
            f"conductor_buffer_length={settings.formatted('conductor_buffer_length')}, "
            f"clients_buffer_length={settings.formatted('clients_buffer_length')}, "
            f"counters_buffer_length={settings.formatted('counters_buffer_length')} five times and "
            f"error_buffer_length={settings.formatted('error_buffer_length')}: must be at most {INT32_MAX} bytes: "
            "lower one of these settings"
        )


def _check_socket_buffers(settings: DriverFields) -> None:
    # 0 leaves the length to the operating system; it is unknown until a socket is created.
    if 0 < settings.socket_so_sndbuf_length < settings.mtu_length:
        raise _pair_fault(settings, "mtu_length", "at most", "socket_so_sndbuf_length")
    if 0 < settings.socket_so_rcvbuf_length < settings.rcv_initial_window_length:
        raise _pair_fault(settings, "rcv_initial_window_length", "at most", "socket_so_rcvbuf_length")


def _check_timeouts(settings: DriverFields) -> None:
    if settings.publication_unblock_timeout_ns <= settings.client_liveness_timeout_ns:
        raise _pair_fault(
            settings, "publication_unblock_timeout_ns", "more than", "client_liveness_timeout_ns"
        )
    for name in (
        "client_liveness_timeout_ns",
        "untethered_window_limit_timeout_ns",
        "untethered_resting_timeout_ns",
        "untethered_linger_timeout_ns",
    ):
        timeout_ns: int | None = getattr(settings, name)
        if timeout_ns is not None and timeout_ns <= settings.timer_interval_ns:
            raise _pair_fault(settings, name, "more than", "timer_interval_ns")


def _check_nak_delay(settings: DriverFields) -> None:
    if settings.nak_unicast_delay_ns * settings.nak_unicast_retry_delay_ratio > INT64_MAX:
        raise ConfigurationError(
            f"nak_unicast_delay_ns={settings.formatted('nak_unicast_delay_ns')} times "
            f"nak_unicast_retry_delay_ratio={settings.nak_unicast_retry_delay_ratio}: "
            f"must be at most {INT64_MAX} ns: lower one of them"
        )


def _check_resolver(settings: DriverFields) -> None:
    if settings.resolver_interface and not settings.resolver_name:
        raise ConfigurationError(
            f"resolver_interface={settings.resolver_interface} without resolver_name: set "
            "resolver_name, too, or remove resolver_interface"
        )


def _check_security(settings: DriverFields) -> None:
    names = [profile.name for profile in settings.security_profiles]
    name = settings.resolver_security
    if name is not None and name not in names:
        raise ConfigurationError(
            f"resolver_security={name}: must be one of security_profiles: {', '.join(names) or 'none is set'}"
        )
    if settings.security_required and settings.resolver_interface and name is None:
        raise ConfigurationError(
            f"security_required=true with resolver_interface={settings.resolver_interface}: set resolver_security, the "
            f"profile with which names are exchanged, or remove resolver_interface"
        )


def _check_idle_strategies(settings: DriverFields) -> None:
    for name in _IDLE_STRATEGIES:
        strategy: str = getattr(settings, name)
        args: str | None = getattr(settings, f"{name}_init_args")
        try:
            if strategy == "backoff":
                parse_backoff_args(args)
            elif strategy == "sleep-ns":
                parse_sleep_ns(args)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}_init_args={error} for {name}={strategy}") from None


def _check_senders(settings: DriverFields) -> None:
    if settings.sender_threads == 1:
        return
    if settings.threading_mode in _ONE_NETWORK_THREAD:
        relation = f"must be 1 with threading_mode={settings.threading_mode.name}, or use DEDICATED"
        raise _fault(settings, "sender_threads", relation)
    if settings.sender_idle_strategy == "signal":
        # No message ends their waits, which would last up to 16 ms each.
        relation = "must be 1 with sender_idle_strategy=signal, or use backoff, yield or spin"
        raise _fault(settings, "sender_threads", relation)


_CHECKS: Final[tuple[Callable[[DriverFields], None], ...]] = (
    _check_idle_strategies,
    _check_senders,
    _check_resolver,
    _check_security,
    _check_nak_delay,
    _check_powers_of_two,
    _check_mtu,
    _check_losses,
    _check_socket_buffers,
    _check_cnc_file_length,
    _check_timeouts,
)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and not number & (number - 1)


def _fault(settings: DriverFields, name: str, allowed: str) -> ConfigurationError:
    return ConfigurationError(f"{name}={settings.formatted(name)}: {allowed}")


def _pair_fault(settings: DriverFields, name: str, relation: str, other: str) -> ConfigurationError:
    return _fault(settings, name, f"must be {relation} {other}={settings.formatted(other)}")
