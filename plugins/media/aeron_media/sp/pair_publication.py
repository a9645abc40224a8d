"""State of a publication in a socket: how much of a draft was sent when a peer disconnected. Not here: its log."""

from __future__ import annotations


class PairPublication:
    """State of one publication; used under the lock of `message_router`."""

    def cut(self, sent_length: int, session_id: int) -> int:
        """Record how many bytes of a draft were sent to a lost peer, for `Output.settle`; return 0."""
        self.is_cut = True
        self.cut_length = sent_length
        self.cut_session_id = session_id
        return 0
