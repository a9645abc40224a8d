"""Subscription: the images of all publications of one stream on one channel.

Not here: the log of one publication (image), and adding and removing images (driver_listener).
Invariant: the client's conductor replaces the tuple of images as a whole, so that a poll on another thread
never sees a partial change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import cython

from aeron_core.client import channel_status
from aeron_core.client._native import arguments, views
from aeron_core.client.channel_peers import ChannelPeer
from aeron_core.client.command_arguments import channel_of, text_of
from aeron_core.client.subscriptions.image import (
    NO_LIMIT,
    BlockHandler,
    ControlledFragmentHandler,
    FragmentHandler,
    Image,
)
from aeron_core.client.subscriptions.message_batch import MessageBatch
from aeron_core.errors import ProtocolError
from aeron_core.logbuffer.batch_buffer import BatchBuffer
from aeron_core.protocol import commands

if TYPE_CHECKING:
    from aeron_core.client.loop_bells import LoopBells
    from aeron_core.client.owner import ResourceOwner
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.header import FragmentImage

ImageHandler = Callable[[Image], object]

# Capacity of a batch in bytes, unless a single message is longer. An invented number: it fits the second-level
# cache of many processors and holds 4096 messages of 256 bytes.
BATCH_DATA_LENGTH = 1024 * 1024


class Subscription:
    """Subscription to one stream of a channel; each of its publications is an image.

    One thread polls it; any thread may read its state, change its destinations and close it.
    """

    def __init__(  # noqa: PLR0913 - fields of the command and of the response
        self,
        owner: ResourceOwner,
        channel: str,
        stream_id: int,
        registration_id: int,
        channel_status_id: int,
        on_available_image: ImageHandler | None = None,
        on_unavailable_image: ImageHandler | None = None,
    ) -> None:
        self.channel = channel
        self.stream_id = stream_id
        self.registration_id = registration_id
        self.channel_status_id = channel_status_id
        self.is_closed = False
        self.on_available_image = on_available_image
        self.on_unavailable_image = on_unavailable_image
        self._owner = owner
        self._images: tuple[Image, ...] = ()
        self._round_robin = 0
        self._batch = BatchBuffer(1, 1)  # replaced by the first batch: many subscriptions never use one

    @property
    def images(self) -> tuple[Image, ...]:
        """The current images, in the order in which they were added; empty once closed."""
        return self._images

    @property
    def image_count(self) -> int:
        """The number of current images."""
        return len(self._images)

    @property
    def is_connected(self) -> bool:
        """Whether at least one image is open."""
        return any(not image.is_closed for image in self._images)

    def image_by_session_id(self, session_id: int) -> Image | None:
        """Return the first image with that session id, or None."""
        return next((image for image in self._images if image.session_id == session_id), None)

    @property
    def peers(self) -> list[ChannelPeer]:
        """The peers that have an image: their sessions and addresses."""
        return [ChannelPeer(image.session_id, image.source_identity) for image in self.images]

    def await_connected(self, timeout: float | None = None) -> None:
        """Wait until an image is open; raise NotConnectedError after `timeout` seconds, None for no limit.

        Raises ClosedError if the subscription is closed, ClientError if it has to wait in a handler of the client.
        """
        self._owner.await_connected(self, timeout)

    def poll(self, handler: FragmentHandler, fragment_limit: int = 10) -> int:
        """Call `handler` for up to `fragment_limit` fragments of all images and return their number.

        Each poll begins with the next image. An exception of the handler propagates; its fragment counts as
        delivered. Messages longer than `max_payload_length` of the publication arrive in several fragments:
        wrap the handler in a FragmentAssembler to reassemble them. Raises ProtocolError for an invalid frame.
        Returns 0 once the subscription is closed, as when the driver has ended: end a loop at `is_closed`.
        """
        return self._poll(handler, arguments.int32_of(fragment_limit, "fragment_limit"), NO_LIMIT)

    def bounded_poll(self, handler: FragmentHandler, limit_position: int, fragment_limit: int = 10) -> int:
        """Do the same as `poll`, but deliver no fragment that begins at or after `limit_position` of its stream."""
        limit = max(arguments.int64_of(limit_position, "limit_position"), 0)
        return self._poll(handler, arguments.int32_of(fragment_limit, "fragment_limit"), limit)

    def controlled_poll(self, handler: ControlledFragmentHandler, fragment_limit: int = 10) -> int:
        """Do the same as `poll`, but continue or stop after each fragment as the result of `handler` demands.

        See `Action`. An aborted fragment is not counted, and the next poll delivers it again. ABORT and BREAK end the
        poll of their image: the poll continues with the next image.
        """
        return self._controlled_poll(handler, arguments.int32_of(fragment_limit, "fragment_limit"))

    def block_poll(self, handler: BlockHandler, block_length_limit: int) -> int:
        """Call `Image.block_poll` with this limit in bytes for each image; return the total length of the blocks."""
        arguments.int64_of(block_length_limit, "block_length_limit")
        return sum(image.block_poll(handler, block_length_limit) for image in self._images)

    def poll_batch(self, max_messages: int = 4096) -> MessageBatch:
        """Return up to `max_messages` whole messages of all images, as arrays that the caller owns.

        Fragments are reassembled; those of an incomplete message are kept for the next batch. The messages of an image
        end early before one that does not fit into the buffer: 1 MiB, or more if a longer message came before. The
        GIL is released while messages are copied from the images, and held for the second copy, into the arrays.
        Raises ProtocolError for an invalid frame if this call has read no message before it.
        """
        import numpy as np  # noqa: PLC0415 - lazy: a third of the import time of the package, and only this method needs it

        self._gather(arguments.int32_of(max_messages, "max_messages"))
        batch = self._batch
        count = batch.count
        return MessageBatch(
            np.frombuffer(batch.data, np.uint8, batch.data_length).copy(),
            np.frombuffer(batch.boundaries, np.int64, count + 1).copy(),
            np.frombuffer(batch.positions, np.int64, count).copy(),
            np.frombuffer(batch.session_ids, np.int32, count).copy(),
            np.frombuffer(batch.reserved_values, np.int64, count).copy(),
        )

    def poll_many(self, max_messages: int = 4096) -> list[bytes]:
        """Return up to `max_messages` whole messages of all images, each as bytes.

        Reads and raises as `poll_batch`, and imports no numpy. Faster than a handler for short messages that are used
        as Python objects; `poll_batch` also returns sessions, positions and reserved values.
        """
        self._gather(arguments.int32_of(max_messages, "max_messages"))
        return views.copies(self._batch.data, self._batch.boundaries, self._batch.count)

    def messages(self, timeout: float | None = None) -> Iterator[bytes]:
        """Yield whole messages of all images, waiting for each, until the subscription is closed.

        Ends also after `timeout` seconds without a message; None: no limit. A message is consumed when it is yielded:
        after a `break` the following ones are left to the next poll. Waiting runs duty cycles of the client's
        conductor. Raises ProtocolError for an invalid frame, and ClientError if it has to wait in a handler of the
        client.
        """
        from aeron_core.client.subscriptions.message_iterator import (  # noqa: PLC0415 - lazy: only this method needs it
            iterate,
        )

        return iterate(self, self._owner, timeout)

    @property
    def loop_bells(self) -> LoopBells | None:
        """The bells of event loops of its client, None without. For `aio`."""
        return None if self._owner is None else self._owner.loop_bells

    @property
    def channel_status(self) -> channel_status.ChannelStatus:
        """State of the channel's endpoint in the driver; always ACTIVE for IPC and spies."""
        return channel_status.channel_status(self._owner.counters, self.channel_status_id)

    def local_addresses(self) -> list[str]:
        """Return `address:port` of the sockets that the driver has bound for the channel; empty for IPC and spies."""
        return channel_status.local_addresses(self._owner.counters, self.channel_status_id)

    def resolved_endpoint(self) -> str | None:
        """Return the first of `local_addresses`, with the bound port instead of port 0; None while none is bound."""
        return next(iter(self.local_addresses()), None)

    def resolved_channel(self) -> str | None:
        """Return the channel, with the bound port if its endpoint has port 0; None while that is not bound."""
        return channel_status.resolved_channel(self._owner.counters, self.channel, self.channel_status_id)

    def add_destination(self, channel: str) -> int:
        """Add a destination (`control-mode=manual`) and return its registration id.

        Waits for the driver and raises as `Aeron.add_subscription`.
        """
        self._owner.check_may_wait()
        return self.add_destination_async(channel).result()

    def add_destination_async(self, channel: str) -> Registration[int]:
        """Send the command of `add_destination` and return its registration without waiting for the driver."""
        channel = channel_of(channel)
        return self._owner.command(
            f"add_destination {channel!r}", commands.AddRcvDestination, self.registration_id, channel
        )

    def remove_destination(self, channel: str) -> None:
        """Remove the destination that was added with this channel; waits and raises as `add_destination`."""
        self._owner.check_may_wait()
        self.remove_destination_async(channel).result()

    def remove_destination_async(self, channel: str) -> Registration[int]:
        """Send the command of `remove_destination`; return its registration, with the command's id as result."""
        channel = channel_of(channel)
        return self._owner.command(
            f"remove_destination {channel!r}", commands.RemoveRcvDestination, self.registration_id, channel
        )

    def reject_image(self, image: FragmentImage, reason: str) -> None:
        """Do what `Image.reject` describes, for an image of this subscription."""
        self._owner.check_may_wait()
        self._owner.command(
            f"reject image {image.correlation_id}",
            commands.RejectImage,
            image.correlation_id,
            image.position,
            text_of(reason, "reason"),
        ).result()

    def close(self) -> None:
        """Close the subscription and its images, and call `on_unavailable_image` for each.

        Closing twice does nothing. Raises ClientError if the driver's command ring stays full for 10 ms; the
        subscription stays open.
        """
        self._owner.close_subscription(self.registration_id)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else f"images={len(self._images)}"
        return f"Subscription({self.channel!r}, {self.stream_id}, {state})"

    def add_image(self, image: Image) -> None:
        """Add an image. For the client's conductor."""
        self._images = (*self._images, image)

    def remove_image(self, correlation_id: int) -> Image | None:
        """Close, remove and return the image with that id, None if there is none. For the client's conductor."""
        image = next((image for image in self._images if image.correlation_id == correlation_id), None)
        if image is not None:
            image.close()
            self._images = tuple(other for other in self._images if other is not image)
        return image

    def mark_closed(self) -> tuple[Image, ...]:
        """Close the subscription, and close, remove and return its images. For the client's conductor."""
        images = self._images
        self.is_closed = True
        self._images = ()
        for image in images:
            image.close()
        return images

    def _first(self, count: int) -> int:
        """Return the index of the image to poll first, and advance the round robin."""
        first = self._round_robin
        if first >= count:
            first = 0
        self._round_robin = first + 1
        return first

    def _poll(self, handler: FragmentHandler, fragment_limit: int, limit_position: int) -> int:
        """Poll the images in turn until `fragment_limit` fragments were delivered; return their number."""
        images = self._images
        count = len(images)
        first = self._first(count)
        fragments = 0
        for i in range(count):
            image = cython.cast(Image, images[first + i if first + i < count else first + i - count])
            fragments += image.poll_fragments(handler, fragment_limit - fragments, limit_position)
            if fragments >= fragment_limit:
                break
        return fragments

    def _controlled_poll(self, handler: ControlledFragmentHandler, fragment_limit: int) -> int:
        images = self._images
        count = len(images)
        first = self._first(count)
        fragments = 0
        for i in range(count):
            image = cython.cast(Image, images[first + i if first + i < count else first + i - count])
            fragments += image.poll_controlled(handler, fragment_limit - fragments, NO_LIMIT)
            if fragments >= fragment_limit:
                break
        return fragments

    def _gather(self, max_messages: int) -> int:
        """Fill the batch with up to `max_messages` messages of the images in turn; return their number."""
        self._reserve(max_messages, 0)
        images = self._images
        count = len(images)
        first = self._first(count)
        messages = 0
        for i in range(count):
            image = cython.cast(Image, images[first + i if first + i < count else first + i - count])
            try:
                messages += image.poll_into(self._batch, max_messages - messages)
            except ProtocolError:
                # Messages of other images are consumed already: deliver them. A later batch raises the error.
                if messages == 0:
                    raise
                break
            if messages == 0 and image.required_length > 0:
                self._reserve(max_messages, image.required_length)
                messages += image.poll_into(self._batch, max_messages)
            if messages >= max_messages:
                break
        return messages

    def _reserve(self, max_messages: int, length: int) -> int:
        batch = self._batch
        if batch.capacity < max_messages or batch.data.capacity < length:
            self._batch = BatchBuffer(max_messages, max(length, BATCH_DATA_LENGTH))
        else:
            batch.clear()
        return 0
