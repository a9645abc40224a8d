import pytest
from aeron_media.ipc.transport import IpcTransport

from aeron_core.errors import ConfigurationError
from aeron_core.spi.media import ReceiveEndpointParams, SendEndpointParams
from aeron_core.uri.channel_uri import ChannelUri


def test_all_channels_of_shared_memory_are_one():
    transport = IpcTransport()

    forms = {
        transport.resolve_channel(ChannelUri.parse(uri), pytest.fail, is_publication=True).canonical_form
        for uri in ("aeron:ipc", "aeron:ipc?term-length=64k", "aeron:ipc?tags=1")
    }

    assert len(forms) == 1
    assert transport.is_shared_memory


def test_shared_memory_has_no_endpoints():
    transport = IpcTransport()
    channel = transport.resolve_channel(ChannelUri.parse("aeron:ipc"), pytest.fail, is_publication=True)
    common = (channel, 0, None, {}, 0, 0, False, False)

    with pytest.raises(ConfigurationError, match="IPC shares the log buffer"):
        transport.open_send_endpoint(SendEndpointParams(*common))
    with pytest.raises(ConfigurationError, match="IPC shares the log buffer"):
        transport.open_receive_endpoint(ReceiveEndpointParams(*common))
