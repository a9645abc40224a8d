"""Result of the handler of a controlled poll."""

from __future__ import annotations

from enum import Enum


class Action(Enum):
    """Continuation of a controlled poll after a fragment; None counts as CONTINUE."""

    ABORT = "abort"  # stop, and deliver the fragment again in the next poll
    BREAK = "break"  # stop after this fragment
    COMMIT = "commit"  # publish the position at once, which lets the sender continue, and continue
    CONTINUE = "continue"  # continue; the position is published at the end of the poll
