"""Settings: lengths of the buffers that the driver shares with its clients."""

from typing import Annotated, Final

from aeron_core._native import wire
from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.variables import Size, Switch
from aeron_core.uri.values import INT32_MAX

MIB: Final = 1024 * 1024
# Range of accepted values, which messages name: as with the reference, the driver does not start with any other value.
_TERM_LENGTHS: Final = (wire.TERM_MIN_LENGTH, wire.TERM_MAX_LENGTH)


class BufferSettings(SettingsFields):
    """Lengths in bytes of shared buffers, terms, frames and publication windows."""

    conductor_buffer_length: Annotated[
        int, Size("AERON_CONDUCTOR_BUFFER_LENGTH", MIB + wire.RING_TRAILER_LENGTH, INT32_MAX)
    ] = setting(
        MIB + wire.RING_TRAILER_LENGTH, description="Ring of commands to the driver: a power of two plus 768."
    )
    clients_buffer_length: Annotated[
        int, Size("AERON_CLIENTS_BUFFER_LENGTH", MIB + wire.BROADCAST_TRAILER_LENGTH, INT32_MAX)
    ] = setting(
        MIB + wire.BROADCAST_TRAILER_LENGTH,
        description="Broadcast of answers to clients: a power of two plus 128.",
    )
    counters_buffer_length: Annotated[int, Size("AERON_COUNTERS_BUFFER_LENGTH", MIB, 500 * MIB)] = setting(
        8 * MIB, description="Counter values; the counter metadata are four times as long."
    )
    error_buffer_length: Annotated[int, Size("AERON_ERROR_BUFFER_LENGTH", 4 * MIB, INT32_MAX)] = setting(
        4 * MIB, description="Distinct error log."
    )
    loss_report_buffer_length: Annotated[int, Size("AERON_LOSS_REPORT_BUFFER_LENGTH", 1024, INT32_MAX)] = (
        setting(MIB, description="Loss report file.")
    )
    term_buffer_length: Annotated[
        int, Size("AERON_TERM_BUFFER_LENGTH", 1024, INT32_MAX, sensible=_TERM_LENGTHS)
    ] = setting(16 * MIB, description="Term of a network publication, a power of two from 64k to 1g.")
    ipc_term_buffer_length: Annotated[
        int, Size("AERON_IPC_TERM_BUFFER_LENGTH", 1024, INT32_MAX, sensible=_TERM_LENGTHS)
    ] = setting(64 * MIB, description="Term of an IPC publication, a power of two from 64k to 1g.")
    term_buffer_sparse_file: Annotated[bool, Switch("AERON_TERM_BUFFER_SPARSE_FILE")] = setting(
        True, description="Create log buffers as sparse files."
    )
    mtu_length: Annotated[
        int, Size("AERON_MTU_LENGTH", wire.DATA_HEADER_LENGTH, wire.MAX_UDP_PAYLOAD_LENGTH)
    ] = setting(1408, description="Longest frame on the network, a multiple of 32 from 64.")
    ipc_mtu_length: Annotated[
        int, Size("AERON_IPC_MTU_LENGTH", wire.DATA_HEADER_LENGTH, wire.MAX_UDP_PAYLOAD_LENGTH)
    ] = setting(1408, description="Longest frame of an IPC publication, a multiple of 32 from 64.")
    publication_term_window_length: Annotated[
        int, Size("AERON_PUBLICATION_TERM_WINDOW_LENGTH", 0, wire.TERM_MAX_LENGTH)
    ] = setting(
        0, description="How far a network publisher may be ahead, at most half a term; 0 for half a term."
    )
    ipc_publication_term_window_length: Annotated[
        int, Size("AERON_IPC_PUBLICATION_TERM_WINDOW_LENGTH", 0, wire.TERM_MAX_LENGTH)
    ] = setting(
        0, description="How far an IPC publisher may be ahead, at most half a term; 0 for half a term."
    )
