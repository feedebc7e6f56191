"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    BLOCKER = "blocker"
    """A test cannot run."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Attributes:
        check: the subject, one word or two.
        level: how bad it is.
        message: what was found.
        remedy: what to do about it; empty if it is ok.
    """

    check: str
    level: Level
    message: str
    remedy: str = ""


def ok(check: str, message: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, remedy: str) -> Finding:
    """Return a finding that may be in the way, or could not be checked."""
    return Finding(check, Level.WARNING, message, remedy)


def blocker(check: str, message: str, remedy: str) -> Finding:
    """Return a finding that keeps a test from running."""
    return Finding(check, Level.BLOCKER, message, remedy)
