"""A client with a driver double: errors that the driver sends, and handlers that fail."""

from aeron_core import ClientHandlers, ErrorCode
from aeron_core.protocol import responses

IPC = "aeron:ipc"


def test_an_error_frame_of_a_receiver_is_passed_to_the_publication_error_handler(make_client, double):
    frames = []
    aeron = make_client(handlers=ClientHandlers(on_publication_error=frames.append))
    publication = aeron.add_publication(IPC, 5)
    for registration_id in (publication.registration_id, publication.registration_id + 999):
        double.answer(
            responses.OnPublicationError(
                registration_id, -1, 1, 5, 77, -1, 1, 4000, b"\x7f\0\0\1" + bytes(12), 13, "not wanted"
            )
        )

    aeron.do_work()

    [frame] = frames
    assert (frame.error_code, frame.error_message) == (ErrorCode.IMAGE_REJECTED, "not wanted")
    assert (frame.source, frame.receiver_id) == (("127.0.0.1", 4000), 77)


def test_a_handler_may_send_commands_but_must_not_wait_for_the_driver(make_client, double):
    errors, asked = [], []
    aeron = make_client(error_handler=errors.append)

    def on_image(image):
        asked.append(aeron.add_publication_async(IPC, 6))
        aeron.add_publication(IPC, 7)

    subscription = aeron.add_subscription(IPC, 5, on_available_image=on_image)
    aeron.add_publication(IPC, 5)
    subscription.await_connected()

    assert "must not wait" in str(errors[0])
    assert asked[0].result().stream_id == 6


def test_an_exception_of_a_handler_is_reported_and_the_client_stays_open(make_client, double):
    errors = []
    aeron = make_client(error_handler=errors.append)

    def on_image(image):
        raise RuntimeError("handler")

    subscription = aeron.add_subscription(IPC, 5, on_available_image=on_image)
    aeron.add_publication(IPC, 5)
    subscription.await_connected()

    assert [str(error) for error in errors] == ["handler"]
    assert not aeron.is_closed


def test_a_channel_endpoint_error_is_reported_with_the_channel(make_client, double):
    errors = []
    aeron = make_client(error_handler=errors.append)
    aeron.add_publication(IPC, 5)
    double.answer(responses.OnError(-1, int(ErrorCode.CHANNEL_ENDPOINT_ERROR), "port taken"))

    aeron.do_work()

    assert "aeron:ipc" in str(errors[0])
    assert errors[0].code is ErrorCode.CHANNEL_ENDPOINT_ERROR


def test_responses_of_unknown_types_are_ignored(aeron, double):
    double.transmitter.transmit(0x0FFF, b"from a later driver")

    aeron.do_work()

    assert not aeron.is_closed
