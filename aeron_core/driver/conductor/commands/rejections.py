"""Rejection of images by subscribers: the notification of the publisher, and the cool-down of IPC streams.

    network image    the receiver sends ERR frames instead of status messages, and drops data and heartbeats, which no
                     longer show that the sender is alive: after its liveness timeout the image ends as any other
    IPC stream       the publisher gets the error at once; the subscriptions are unlinked, and linked again after
                     the liveness timeout of images

Source: aeron_driver_conductor.c, aeron_driver_conductor_on_invalidate_image; aeron_ipc_publication.c,
aeron_ipc_publication_reject.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from aeron_core._native import wire
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.conductor.lifecycle import StreamLifecycle
from aeron_core.driver.conductor.stream_errors import record_stream_error
from aeron_core.driver.conductor.subscriber_link import reserve_links
from aeron_core.errors import AeronError, ErrorCode
from aeron_core.protocol import responses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.publications.ipc_publication_lifecycle import IpcPublicationLifecycle
    from aeron_core.driver.conductor.registrars import Registrars
    from aeron_core.protocol.commands import RejectImage

_Lifecycle = TypeVar("_Lifecycle", bound=StreamLifecycle)

#: Source address in the error that an IPC publisher gets.
_LOOPBACK: Final = bytes((127, 0, 0, 1)).ljust(wire.RESPONSE_ADDRESS_LENGTH, b"\0")


class Rejections:
    """Handler of the command that rejects an image. Used by the conductor only."""

    def __init__(
        self,
        context: DriverContext,
        registrars: Registrars,
    ) -> None:
        self._context = context
        self._subscriptions = registrars.subscriptions
        self._ipc = registrars.ipc
        self._images = registrars.images
        self._cool_downs: dict[IpcPublicationLifecycle, int] = {}

    def reject(self, command: RejectImage) -> None:
        """Reject the image that a command names, and confirm the command.

        Raises CommandRefusedError if there is no such image, or the reason is too long.
        """
        # The length in bytes as received: surrogates in the text stand for bytes that are not UTF-8.
        length = len(command.reason.encode("utf-8", "surrogateescape"))
        # An ERR frame carries the reason to the publisher's driver; its length is limited.
        if length > wire.ERR_MAX_TEXT_LENGTH:
            raise CommandRefusedError(
                f"Invalidation reason_text must be {wire.ERR_MAX_TEXT_LENGTH} bytes or less: it has {length} bytes, "
                f"shorten it"
            )
        image = _find(self._images.lifecycles, command.image_correlation_id)
        if image is not None:
            image.image.reject(command.reason)
        else:
            lifecycle = _find(self._ipc.lifecycles, command.image_correlation_id)
            if lifecycle is None:
                raise CommandRefusedError(
                    f"Unable to resolve image for correlationId={command.image_correlation_id}: must be the "
                    f"correlation id of an image of this driver, but not of a spy; an image that has ended needs no "
                    f"rejection"
                )
            self._reject_ipc(lifecycle, command.reason)
        # The response confirms the rejection by this driver. A remote publisher gets the reason with the
        # next ERR frame.
        self._context.system_counters.images_rejected.get_and_add(1)
        self._context.clients.on_success(command.correlation_id)

    def _reject_ipc(self, lifecycle: IpcPublicationLifecycle, reason: str) -> None:
        self._context.report_publication_error(
            responses.OnPublicationError(
                registration_id=lifecycle.registration_id,
                # IPC has no destinations, receivers or groups: -1 stands for none, as `wire.NO_GROUP_TAG` does.
                destination_registration_id=-1,
                session_id=lifecycle.session_id,
                stream_id=lifecycle.stream_id,
                receiver_id=-1,
                group_tag=wire.NO_GROUP_TAG,
                address_type=wire.RESPONSE_ADDRESS_TYPE_IP4,
                source_port=0,
                source_address=_LOOPBACK,
                error_code=ErrorCode.IMAGE_REJECTED,
                error_message=reason,
            )
        )
        # During the cool-down no subscription is linked to the stream: its subscribers would reject it again at once.
        lifecycle.is_cooling_down = True
        lifecycle.unlink_all(notify=True)
        now_ns = self._context.clock.nano_time()
        self._cool_downs[lifecycle] = now_ns + self._context.settings.image_liveness_timeout_ns

    def on_timer(self, now_ns: int) -> None:
        """Link the subscriptions of IPC streams again after their cool-down, if the stream still accepts any."""
        over = [lifecycle for lifecycle, deadline_ns in self._cool_downs.items() if now_ns > deadline_ns]
        for lifecycle in over:
            del self._cool_downs[lifecycle]
            lifecycle.is_cooling_down = False
            # The stream may have ended during its cool-down.
            if lifecycle.accepts_subscriptions:
                self._link(lifecycle)

    def _link(self, lifecycle: IpcPublicationLifecycle) -> None:
        try:
            links = reserve_links((lifecycle, each) for each in self._subscriptions.of_ipc(lifecycle))
        except AeronError as error:
            text = (
                "cannot link subscriptions to an IPC stream after its rejection (add them again once the cause is "
                "removed)"
            )
            record_stream_error(self._context, lifecycle, text, error)
            return
        for link in links:
            link.establish()


def _find(lifecycles: Iterable[_Lifecycle], registration_id: int) -> _Lifecycle | None:
    return next((lifecycle for lifecycle in lifecycles if lifecycle.registration_id == registration_id), None)
