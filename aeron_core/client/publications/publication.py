"""Publication that any number of threads and clients may share.

Not here: appending to the log (`ConcurrentAppender`).
"""

from __future__ import annotations

from aeron_core.client.publications.publication_arguments import PublicationArguments
from aeron_core.client.publications.publication_base import PublicationBase
from aeron_core.logbuffer.appender import ConcurrentAppender


class Publication(PublicationBase):
    """A publication that clients share: any number of threads may offer.

    `offer` returns the new position of the stream, or one of NOT_CONNECTED, BACK_PRESSURED, ADMIN_ACTION
    (offer again at once), CLOSED, MAX_POSITION_EXCEEDED, and with `peer` also NO_PEER and PEER_FULL: all
    negative.
    """

    def __init__(self, params: PublicationArguments) -> None:
        appender = ConcurrentAppender(params.log, params.session_id, params.stream_id, params.limit)
        PublicationBase.__init__(self, params, appender)
