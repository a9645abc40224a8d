"""Rejected images in the error log of the publisher's driver, as operators of the reference driver find them."""

from aeron_core.concurrent.ring_buffer import ManyToOneRingBuffer
from aeron_core.errors import ErrorCode
from aeron_core.protocol import commands
from aeron_core.testing.pair import MS

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
CLIENT_ID = 1_000_000


def reject(driver, image_id, reason):
    command = commands.RejectImage(CLIENT_ID, 7, image_id, 0, reason)
    assert ManyToOneRingBuffer(driver.cnc.to_driver).write(command.TYPE_ID, command.encode())


def described(publication, receiver_id, reason):
    return (
        f"onPublicationError: registrationId={publication.registration_id}, destinationRegistrationId=-1, "
        f"sessionId={publication.session_id}, streamId=1001, receiverId={receiver_id}, groupId=-1, "
        f"errorCode=13, errorMessage={reason}"
    )


def test_a_rejected_network_image_is_an_error_of_the_publishers_driver(pair):
    error_frames = []
    publisher = pair.sender.connect(on_publication_error=error_frames.append)
    subscription = pair.add_subscription(CHANNEL, 1001)
    publication = pair.result(publisher.add_publication_async(CHANNEL, 1001))
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)

    reject(pair.receiver, subscription.images[0].correlation_id, "not wanted")
    pair.run_for(300 * MS)

    (frame,) = error_frames
    assert frame.error_code is ErrorCode.IMAGE_REJECTED
    (error,) = pair.sender.errors()
    assert described(publication, frame.receiver_id, "not wanted") in error.text
    assert pair.sender.counted("errors") == 1
    assert pair.receiver.counted("errors") == 0


def test_a_rejected_ipc_stream_is_an_error_of_its_driver(lone):
    publication = lone.add_publication("aeron:ipc", 1001)
    subscription = lone.add_subscription("aeron:ipc", 1001)
    lone.run_until(lambda: publication.is_connected and subscription.is_connected)

    reject(lone.driver, publication.registration_id, "not wanted")
    lone.run_until(lambda: not publication.is_connected)

    (error,) = lone.driver.errors()
    assert described(publication, -1, "not wanted") in error.text
    assert lone.driver.counted("errors") == 1
