"""Response channels: each subscriber of a request stream sends its responses on a stream of its own.

    requester                                              responder
    subscription, control-mode=response (no session yet)
    publication, response-correlation-id=<subscription> ──SETUP, SEND_RESPONSE──► image
                                                           publication, control-mode=response,
                  ◄──RSP_SETUP, session of the responses── response-correlation-id=<image>
    subscription takes that session ──SM, SEND_SETUP──►    publication sends SETUP to the source of the SM

RSP_SETUP is sent at once, then with each status message that the timeout triggers, until a response stream has a
receiver; if there are several response streams, it names the newest. IPC needs no frames: see
`IpcPublicationRegistrar`.
Source: aeron_driver_conductor.c (on_response_setup, find_response_publication_image).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver._native import operations
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.uri.parameters import NULL_CORRELATION_ID, PROTOTYPE_CORRELATION_ID, PublicationParameters

if TYPE_CHECKING:
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.network_publication_lifecycle import (
        NetworkPublicationLifecycle,
    )
    from aeron_core.driver.conductor.registrars import Registrars
    from aeron_core.driver.conductor.subscriptions.image_lifecycle import ImageLifecycle
    from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry
    from aeron_core.driver.sender.network_publication import NetworkPublication
    from aeron_core.spi.media import Channel


class ResponseChannels:
    """Links between requests and the streams of their responses. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        registrars: Registrars,
    ) -> None:
        self.context = context
        self._subscriptions = registrars.subscriptions
        self._publications = registrars.network
        self._images = registrars.images

    def check(self, channel: Channel) -> ImageLifecycle | None:
        """Return the image that a publication responds to, None if it responds to none.

        Raises ChannelUriError if the URI is wrong. Raises CommandRefusedError if a response channel has no correlation
        id, or its image does not exist or requests no responses; and if a request names no network subscription.
        """
        params = PublicationParameters.parse(
            channel.uri,
            self.context.settings.publication_defaults,
            compares_sockets=self.context.media_of(channel.uri).has_datagrams,
        )
        requested = params.response_correlation_id
        if params.is_response:
            return self._image_of(requested, channel)
        if requested != NULL_CORRELATION_ID and self._subscription_of(requested) is None:
            raise CommandRefusedError(
                f"unable to find response subscription for response-correlation-id={requested}: {channel.uri}: must "
                f"be the registration id of a network subscription of this driver, add it before the publication"
            )
        return None

    def _image_of(self, correlation_id: int, channel: Channel) -> ImageLifecycle | None:
        if correlation_id == NULL_CORRELATION_ID:
            raise CommandRefusedError(
                f"control-mode=response was specified, but no response-correlation-id set: {channel.uri}: set it to "
                f"the correlation id of an image, or to prototype"
            )
        # A prototype keeps the channel endpoint open before the first request arrives; it responds to no
        # image.
        if correlation_id == PROTOTYPE_CORRELATION_ID:
            return None
        for lifecycle in self._images.lifecycles:
            if lifecycle.registration_id == correlation_id:
                if lifecycle.requests_response:
                    return lifecycle
                raise CommandRefusedError(
                    f"image.correlationId={correlation_id} did not request a response channel: {channel.uri}: the "
                    f"publication of the image must set response-correlation-id to the registration id of a response "
                    "subscription"
                )
        raise CommandRefusedError(
            f"image.correlationId={correlation_id} not found: {channel.uri}: response-correlation-id must be the "
            f"correlation id of a network image of this driver that has not ended"
        )

    def _subscription_of(self, registration_id: int) -> SubscriptionEntry | None:
        # Entries for destinations in shared memory and for spies have the same registration id, but no endpoint.
        for subscription in self._subscriptions.all:
            if subscription.registration_id == registration_id and subscription.endpoint is not None:
                return subscription
        return None

    def announce(self, image: ImageLifecycle) -> None:
        """Announce the session of the newest response stream to the sender of an image.

        Stops announcements instead if a response stream has a receiver, none is active, or the image has ended.
        """
        self._announce(image, self._answers().get(image.registration_id, []))

    def announce_all(self) -> None:
        """Announce the responses to each image that requests some, or stop their announcements, as `announce` does."""
        answers = self._answers()
        for image in self._images.lifecycles:
            if image.requests_response:
                self._announce(image, answers.get(image.registration_id, []))

    def _answers(self) -> dict[int, list[NetworkPublicationLifecycle]]:
        """Return the active response streams, oldest first, by the correlation id of the image that they respond to."""
        # Streams that drain are left out: nothing new is published on them.
        answers: dict[int, list[NetworkPublicationLifecycle]] = {}
        for lifecycle in self._publications.lifecycles:
            if lifecycle.params.is_response and lifecycle.state == operations.PUBLICATION_ACTIVE:
                answers.setdefault(lifecycle.params.response_correlation_id, []).append(lifecycle)
        return answers

    @staticmethod
    def _announce(image: ImageLifecycle, answers: list[NetworkPublicationLifecycle]) -> None:
        # Acquire: pairs with the release of the sender when the first receiver connects.
        is_connected = any(lifecycle.publication.has_receivers.get_acquire() for lifecycle in answers)
        if not answers or is_connected or image.image.is_end_of_stream.get_acquire():
            is_new = image.image.announce_no_responses()
        else:
            is_new = image.image.announce_responses(answers[-1].session_id)
        if is_new:
            image.visit()

    def on_response_setup(self, publication: NetworkPublication, session_id: int) -> None:
        """Set the session of the subscription for the responses to a publication, or request its SETUP.

        The SETUP is requested if the session is set already. While the subscription has an image, its session
        is not replaced by another.
        """
        lifecycle = next((s for s in self._publications.lifecycles if s.publication is publication), None)
        # The publication may have ended while the event was in the ring.
        if lifecycle is None:
            return
        subscription = self._subscription_of(lifecycle.params.response_correlation_id)
        if subscription is None or subscription.endpoint is None or not subscription.params.is_response:
            return
        if subscription.is_for_responses and subscription.params.session_id != session_id:
            # A forged frame must not disconnect an existing image.
            if any(subscription in image.links for image in self._images.lifecycles):
                return
            subscription.accept_responses_of(session_id)
        elif subscription.params.session_id is not None:
            # RSP_SETUP is repeated until the responses have a receiver: request the SETUP each time.
            subscription.endpoint.elicit_setup_of(subscription.params.session_id, subscription.stream_id)
