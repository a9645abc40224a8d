"""Finds peers again that have moved: a channel that nobody answers on has its name resolved once more.

A publication counts as silent when none of its receivers has said anything for the time after which a receiver is
taken for gone, or, where none ever has, for that time since the channel was opened.
Not here: destinations that clients named one by one, groups, and the control addresses of subscriptions.
Source: aeron_send_channel_endpoint.c, aeron_send_channel_endpoint_check_for_re_resolution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.endpoint_params import ControlMode

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aeron_core._native.address import SocketAddress
    from aeron_core.driver.context import DriverContext
    from aeron_core.driver.network_publications import NetworkPublications
    from aeron_core.driver.resolution import Resolution
    from aeron_core.driver.send_endpoint import SendEndpoint


class ReResolution:
    """Used by the conductor only."""

    def __init__(
        self, context: DriverContext, resolution: Resolution, publications: NetworkPublications
    ) -> None:
        self._context = context
        self._resolution = resolution
        self._publications = publications
        self._interval_ns = context.settings.reresolution_check_interval_ns
        self._timeout_ns = context.settings.publication_connection_timeout_ns
        self._deadline_ns = context.clock.nano_time() + self._interval_ns
        self._pending: dict[SendEndpoint, Future[SocketAddress]] = {}

    def do_work(self, now_ns: int) -> int:
        """Take the addresses that were found, and look for more when it is time; return 0 if there was nothing."""
        work = self._take_found() if self._pending else 0
        if self._interval_ns == 0 or now_ns < self._deadline_ns:
            return work
        self._deadline_ns = now_ns + self._interval_ns
        for endpoint in self._silent(now_ns):
            self._start(endpoint)
        return work + 1

    def _silent(self, now_ns: int) -> list[SendEndpoint]:
        heard = {
            stream.endpoint
            for stream in self._publications.streams
            if stream.publication.has_receivers.get_acquire()
        }
        for endpoint in heard:
            endpoint.silent_since_ns = None
        return [
            endpoint
            for endpoint in self._publications.endpoints.values()
            if endpoint not in heard and self._is_silent(endpoint, now_ns)
        ]

    def _is_silent(self, endpoint: SendEndpoint, now_ns: int) -> bool:
        since_ns = endpoint.silent_since_ns
        return since_ns is None or now_ns > since_ns + self._timeout_ns

    def _start(self, endpoint: SendEndpoint) -> None:
        uri = endpoint.channel.uri
        if (
            endpoint in self._pending
            or endpoint.remote is None
            or endpoint.channel.is_group
            or endpoint.channel.is_multicast
            or "endpoint" not in uri
            or ControlMode.of(uri) is not ControlMode.NONE
        ):
            return
        future = self._resolution.start_again(uri.params["endpoint"], "endpoint")
        if future is not None:
            self._pending[endpoint] = future

    def _take_found(self) -> int:
        found = [(endpoint, future) for endpoint, future in self._pending.items() if future.done()]
        for endpoint, future in found:
            del self._pending[endpoint]
            try:
                self._change(endpoint, future.result())
            except Exception as error:
                self._context.errors.record_exception(error, f"re-resolution of {endpoint.channel.uri}")
        return len(found)

    def _change(self, endpoint: SendEndpoint, address: SocketAddress) -> None:
        is_open = self._publications.endpoints.get(endpoint.channel.canonical_form) is endpoint
        if is_open and address != endpoint.remote and endpoint.native.change_remote(address):
            endpoint.remote = address
            self._context.system_counters.resolution_changes.get_and_add(1)
