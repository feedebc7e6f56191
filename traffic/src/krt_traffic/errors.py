"""What ends a pod of the traffic image before its work is done."""

from __future__ import annotations


class UnusableError(Exception):
    """The plan or the environment cannot be used; the message names the field and the remedy.

    Attributes:
        field: path in the resource of what cannot be used; empty where it is none of the resource.
    """

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class FatalClientError(Exception):
    """The Kafka client cannot go on (fenced, or its state is lost); another incarnation may."""


class RecordingError(Exception):
    """What happened could not be recorded; the message names the cause and the remedy.

    It is no OSError: a reader of the Kubernetes API takes those for a lost connection.
    """
