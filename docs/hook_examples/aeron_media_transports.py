"""Medium `service`: UDP channels with a service name, `aeron:service?name=orders`, from a fixed table."""

from dataclasses import replace

from aeron_media.udp.parameters import UdpParameters
from aeron_media.udp.transport import UdpTransport

from aeron_core.spi import hookimpl

SERVICES = {"orders": "10.0.0.2:20121", "prices": "10.0.0.2:20122"}


class ServiceParameters(UdpParameters):
    """Keys of the channel URI: those of UDP, and `name`."""

    name: str | None = None


class ServiceTransport(UdpTransport):
    """UDP with the endpoint of a service."""

    @property
    def parameters(self) -> type[ServiceParameters]:
        return ServiceParameters

    def resolve_channel(self, uri, resolve, *, is_publication):
        name = uri.get("name", "")
        if name not in SERVICES:
            raise uri.fault("name", f"must be one of {', '.join(SERVICES)}")
        udp = uri.replace(media="udp").with_params({"name": None, "endpoint": SERVICES[name]})
        channel = super().resolve_channel(udp, resolve, is_publication=is_publication)
        return replace(channel, uri=uri)


@hookimpl
def aeron_media_transports():
    return {"service": ServiceTransport}
