"""What the handler of a controlled poll wants next."""

from __future__ import annotations

from enum import Enum


class Action(Enum):
    """Answer of a handler to a fragment; None counts as CONTINUE."""

    ABORT = "abort"  # take the fragment back, to be polled again, and stop
    BREAK = "break"  # stop behind this fragment
    COMMIT = "commit"  # publish the position at once, which frees room for the sender, and go on
    CONTINUE = "continue"  # go on; the position is published at the end of the poll
