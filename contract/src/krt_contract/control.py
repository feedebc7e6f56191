"""The control ConfigMap of a run: what the controller asks of traffic and recorder.

Its data holds ``state`` (a `ControlState`) and, once the ends of the log are known, ``endOffsets``
(topic → partition → offset up to which consumers read), ``endOffsetsAt`` (when they were given
them, UTC µs) and ``bounds`` (the log's bounds as they were read, for the scoring job). From DRAIN
on the bounds are final.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

STATE_KEY = "state"
END_OFFSETS_KEY = "endOffsets"
END_OFFSETS_AT_KEY = "endOffsetsAt"
BOUNDS_KEY = "bounds"


class ControlState(StrEnum):
    """What the pods of a run are asked to do; only ever forward, or to ABORT."""

    WAIT = "Wait"
    """Producers and consumers, where they have started, wait: brokers may not know the topics."""
    PRODUCE = "Produce"
    """Producers send, consumers read."""
    STOP_PRODUCING = "StopProducing"
    """Producers finish what they have begun and end."""
    DRAIN_TRANSFORMS = "DrainTransforms"
    """Consumers that write what they read read their input up to its end offsets, and end."""
    DRAIN = "Drain"
    """All other consumers read up to the end offsets, and end."""
    DONE = "Done"
    """The recorder closes the evidence."""
    SCORE = "Score"
    """Nobody writes evidence any more; the scoring job, which has read the topics, judges it."""
    ABORT = "Abort"
    """Everybody closes at once."""


BOUNDED = frozenset({ControlState.DRAIN, ControlState.DONE, ControlState.SCORE})
"""States in which the bounds are final."""

ENDING = frozenset({ControlState.DONE, ControlState.SCORE, ControlState.ABORT})
"""States in which traffic and recorder have nothing more to do than to close."""


def state_of(data: Mapping[str, str]) -> ControlState:
    """Return the state that the data of the ConfigMap names; WAIT where it names none yet.

    Raises:
        ValueError: there is no such state.
    """
    return ControlState(data.get(STATE_KEY) or ControlState.WAIT)
