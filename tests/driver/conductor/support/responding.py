"""Response channels between two drivers: clients that request, and the publications that answer them."""

from aeron_core.testing import Sink

REQUESTS = "aeron:udp?endpoint=10.0.0.2:20121"
RESPONSES = "aeron:udp?control=10.0.0.2:20122|control-mode=response"


class Requester:
    """A client that sends requests on stream 1001 and receives responses on stream 1002."""

    def __init__(self, pair, client=None):
        client = client or pair.publisher
        self.subscription = pair.result(client.add_subscription_async(RESPONSES, 1002))
        channel = f"{REQUESTS}|response-correlation-id={self.subscription.registration_id}"
        self.publication = pair.result(client.add_exclusive_publication_async(channel, 1001))
        self.sink = Sink(self.subscription)


def serve(pair, requests):
    """Return a publication of responses to the newest image of `requests`."""
    image = requests.images[-1]
    channel = f"{RESPONSES}|response-correlation-id={image.correlation_id}"
    return pair.result(pair.subscriber.add_exclusive_publication_async(channel, 1002))


def connect(pair, requests, client=None):
    """Return a new requester, and the publication of its responses, when both are connected."""
    before = len(requests.images)
    requester = Requester(pair, client)
    pair.run_until(lambda: len(requests.images) > before)
    responses = serve(pair, requests)
    pair.run_until(lambda: responses.is_connected and requester.subscription.is_connected)
    return requester, responses
