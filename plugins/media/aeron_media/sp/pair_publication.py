"""A publication as the socket sees it: what was on its way when a peer went. Not here: its log."""

from __future__ import annotations


class PairPublication:
    """State of one stream; used under the lock of the sending side."""

    def cut(self, sent_length: int, session_id: int) -> int:
        """Keep what had been sent of the draft that a peer was sent; return 0. `Output.settle` makes use of it."""
        self.is_cut = True
        self.cut_length = sent_length
        self.cut_session_id = session_id
        return 0
