"""How a pod of ours ends; the exit status tells the controller what to do about it."""

from __future__ import annotations

EXIT_DONE = 0
"""Ended as it was asked to."""
EXIT_UNUSABLE = 2
"""The plan or the environment cannot be used; starting again would not help."""
EXIT_FATAL = 3
"""The client met an error it cannot recover from; another incarnation may go on."""

EXIT_BEHIND = 4
"""A consumer that was told to read to the end and ended before it; starting again would not give
it the time it did not have."""


class UnusableError(Exception):
    """The plan or the environment cannot be used; the message names the field and the remedy."""


class FatalClientError(Exception):
    """The Kafka client is over (fenced, or its state is lost); another incarnation may go on."""
