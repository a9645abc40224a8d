"""Handling of the driver's responses, which complete registrations, and add and remove images.

Responses are broadcast: every client receives those to all clients, and possibly one that was sent before it
connected. Responses to other clients are ignored, except those about counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_core.client.handlers import PublicationErrorFrame
from aeron_core.client.subscriptions.image import Image
from aeron_core.errors import (
    AeronError,
    ClientTimeoutError,
    ErrorCode,
    ProtocolError,
    RegistrationError,
    StorageError,
)
from aeron_core.protocol import responses

if TYPE_CHECKING:
    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.clock import Clock
    from aeron_core.client.conductor.callbacks import Callbacks
    from aeron_core.client.conductor.resources import Resources
    from aeron_core.client.publications.publication_base import PublicationBase
    from aeron_core.client.registrations import Registrations
    from aeron_core.client.subscriptions.subscription import Subscription
    from aeron_core.concurrent.counters import CountersReader

# Time between attempts to map the logs of images after a lack of descriptors or memory. An invented number: short
# beside the liveness timeouts of drivers.
_RETRY_NS: Final = 1_000_000_000


class DriverListener:
    """Receiver of the driver's responses, one at a time. For the client's conductor."""

    def __init__(  # noqa: PLR0913 - the parts of the conductor that messages change
        self,
        client_id: int,
        registrations: Registrations,
        resources: Resources,
        callbacks: Callbacks,
        counters: CountersReader,
        clock: Clock,
    ) -> None:
        self._client_id = client_id
        self._registrations = registrations
        self._resources = resources
        self._callbacks = callbacks
        self._counters = counters
        self._clock = clock
        # By correlation and subscription id: images that cannot be mapped yet. Their positions hold the senders back,
        # so no data is lost, but without another attempt to map them the streams would stop for good.
        self._unmapped: dict[tuple[int, int], responses.OnAvailableImage] = {}
        self._retry_ns = 0
        self._handlers = {
            responses.OnError: self._on_error,
            responses.OnAvailableImage: self._on_available_image,
            responses.OnUnavailableImage: self._on_unavailable_image,
            responses.OnPublicationReady: self._on_answer,
            responses.OnExclusivePublicationReady: self._on_answer,
            responses.OnSubscriptionReady: self._on_answer,
            responses.OnOperationSuccess: self._on_answer,
            responses.OnStaticCounter: self._on_answer,
            responses.OnNextAvailableSessionId: self._on_answer,
            responses.OnCounterReady: self._on_counter_ready,
            responses.OnUnavailableCounter: self._on_unavailable_counter,
            responses.OnClientTimeout: self._on_client_timeout,
            responses.OnPublicationError: self._on_publication_error,
        }

    def on_message(self, type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> None:
        """Decode and handle the response of `length` bytes at `offset`; ignore an unknown type.

        Reports a malformed response to the error handler. Raises ClientTimeoutError if the driver has timed this
        client out, and ClientError if the driver's command ring is full when an unwanted resource must be removed.
        """
        # A later version of the driver may send types that this version does not define.
        if type_id not in responses.RESPONSES:
            return
        try:
            response = responses.decode_response(type_id, buffer, offset, length)
        except ProtocolError as error:
            self._callbacks.error(error)
            return
        self._handlers[type(response)](response)  # type: ignore[operator]

    def _on_answer(
        self,
        response: responses.OnPublicationReady
        | responses.OnSubscriptionReady
        | responses.OnOperationSuccess
        | responses.OnCounterReady
        | responses.OnStaticCounter
        | responses.OnNextAvailableSessionId,
    ) -> None:
        registration = self._registrations.pop(response.correlation_id)
        if registration is None:
            return
        try:
            unwanted = registration.complete(response)
        except (AeronError, OSError) as error:
            registration.fail(error)
            return
        except Exception as error:  # the caller that waits must get every error
            fault = ProtocolError(
                f"{registration.what}: the media driver's answer cannot be used: {error!r}: "
                "check that driver and client have the same version"
            )
            fault.__cause__ = error
            registration.fail(fault)
            return
        close = getattr(unwanted, "close", None)
        if close is not None:
            close()

    def _on_error(self, response: responses.OnError) -> None:
        code = ErrorCode.of(response.error_code)
        if code is ErrorCode.CHANNEL_ENDPOINT_ERROR:
            self._on_channel_endpoint_error(response)
            return
        registration = self._registrations.pop(response.offending_correlation_id)
        if registration is not None:
            registration.fail(
                RegistrationError(f"{registration.what}: {response.error_message} ({code.name})", code)
            )

    def _on_channel_endpoint_error(self, response: responses.OnError) -> None:
        # With this code only, the field has the id of the channel's status counter instead of a correlation id.
        status_id = response.offending_correlation_id
        resources: list[PublicationBase | Subscription] = [
            *self._resources.publications.values(),
            *self._resources.subscriptions.values(),
        ]
        for resource in resources:
            if resource.channel_status_id == status_id:
                self._callbacks.error(
                    RegistrationError(
                        f"channel {resource.channel!r}: {response.error_message}",
                        ErrorCode.CHANNEL_ENDPOINT_ERROR,
                    )
                )

    def retry_images(self, now_ns: int) -> int:
        """Try again, once a second, to map images that could not be mapped; return how many are available now."""
        if not self._unmapped or now_ns < self._retry_ns:
            return 0
        self._retry_ns = now_ns + _RETRY_NS
        work = 0
        for key, response in list(self._unmapped.items()):
            try:
                self._unmapped.pop(key, None)
                self._add_image(response)
                work += 1
            except StorageError:  # reported already
                self._unmapped[key] = response
            except (AeronError, OSError) as error:
                self._callbacks.error(error)
        return work

    def _on_available_image(self, response: responses.OnAvailableImage) -> None:
        try:
            self._add_image(response)
        except StorageError as error:
            self._unmapped[response.correlation_id, response.subscriber_registration_id] = response
            self._retry_ns = self._clock.nano_time() + _RETRY_NS
            self._callbacks.error(error)
        except (AeronError, OSError) as error:
            self._callbacks.error(error)

    def _add_image(self, response: responses.OnAvailableImage) -> None:
        subscription = self._resources.subscriptions.get(response.subscriber_registration_id)
        if subscription is None:
            return
        # Look up the counter first: if that failed after the log was acquired, no image would release it.
        try:
            position = self._counters.counter(response.subscriber_position_id)
        except IndexError as error:
            raise ProtocolError(
                f"image {response.correlation_id}: subscriber_position_id={response.subscriber_position_id}: must be "
                f"from 0 to {self._counters.max_counter_id}, the ids of the counters; restart the media driver if it "
                "occurs again"
            ) from error
        log = self._resources.log_buffers.acquire(response.correlation_id, response.log_file)
        image = Image(
            subscription,
            response.session_id,
            log,
            position,
            response.source_identity,
            response.correlation_id,
        )
        subscription.add_image(image)
        self._callbacks.available_image(subscription, image)

    def _on_unavailable_image(self, response: responses.OnUnavailableImage) -> None:
        self._unmapped.pop((response.correlation_id, response.subscription_registration_id), None)
        removed = self._resources.remove_image(
            response.correlation_id, response.subscription_registration_id, self._clock.nano_time()
        )
        if removed is not None:
            self._callbacks.unavailable_image(*removed)

    def _on_counter_ready(self, response: responses.OnCounterReady) -> None:
        self._on_answer(response)
        self._callbacks.available_counter(response.correlation_id, response.counter_id)

    def _on_unavailable_counter(self, response: responses.OnUnavailableCounter) -> None:
        self._callbacks.unavailable_counter(response.registration_id, response.counter_id)

    def _on_client_timeout(self, response: responses.OnClientTimeout) -> None:
        if response.client_id == self._client_id:
            raise ClientTimeoutError(
                f"the media driver timed out client {self._client_id}: its heartbeat was older than the driver's "
                "client_liveness_timeout_ns: connect again, and run the client's conductor more often or raise the "
                "timeout"
            )

    def _on_publication_error(self, response: responses.OnPublicationError) -> None:
        frame = PublicationErrorFrame.of(response)
        for publication in tuple(self._resources.publications.values()):
            if publication.original_registration_id == frame.registration_id:
                self._callbacks.publication_error(frame)
