"""Exit codes of a pod of the traffic image: what the controller may do next."""

from __future__ import annotations

from enum import IntEnum


class TrafficExit(IntEnum):
    """How a pod of the traffic image ended; any other code is a defect of it."""

    DONE = 0
    """As instructed."""
    UNUSABLE = 2
    """The plan, a setting or the environment cannot be used; starting again would not help."""
    FATAL = 3
    """The client met an error it cannot recover from; another incarnation may go on."""
    BEHIND = 4
    """A consumer that knew the end offsets and ended before them; starting again would not give it
    the time that it did not have."""
    NOT_RECORDED = 5
    """The recorder could not write what happened; started again, it records the gap and goes on."""
