"""How a pod of the traffic image ends: its exit status says what the controller may do next."""

from __future__ import annotations

EXIT_DONE = 0
"""Ended as instructed."""
EXIT_UNUSABLE = 2
"""The plan or the environment cannot be used; starting again would not help."""
EXIT_FATAL = 3
"""The client met an error it cannot recover from; another incarnation may go on."""

EXIT_BEHIND = 4
"""A consumer that knew the end offsets and ended before them; starting again would not give it the
time that it did not have."""


class UnusableError(Exception):
    """The plan or the environment cannot be used; the message names the field and the remedy."""


class FatalClientError(Exception):
    """The Kafka client cannot go on (fenced, or its state is lost); another incarnation may."""
