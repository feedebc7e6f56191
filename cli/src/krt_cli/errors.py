"""How a command ends: its exit code, or what kept it from doing its work."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of ``krt run`` and ``krt watch``; the others end with 0, 1 or COULD_NOT_RUN."""

    PASSED = 0
    FAILED = 1
    DEGRADED = 2
    INCONCLUSIVE = 3
    COULD_NOT_RUN = 4
    INTERRUPTED = 130
    """What a shell reports of a command that Ctrl-C ended (128 + SIGINT)."""


class ExitWithCode(Exception):  # noqa: N818 - an end, not an error
    """Ends the command.

    Attributes:
        code: its exit code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class CouldNotRunError(Exception):
    """The command could not do its work; ends with exit code 4.

    Attributes:
        remedy: what to do about it, a sentence; empty where the message says it.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class KubectlError(CouldNotRunError):
    """kubectl failed; the message holds the command and its standard error."""
