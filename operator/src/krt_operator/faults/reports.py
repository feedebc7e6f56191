"""What ephemeral containers and the Jobs of tools reported in their termination messages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_operator.api.times import from_micros

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.views import Json

NOT_FOUND: Final = 3
REFUSED: Final = 4
"""Exit codes of `signal.sh` where no process got the signal: there is none, or it takes none."""

NOT_STARTED: Final = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of kubelet for a container whose command it could not run, as where it has no bash."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a container or a Job reported in its termination message.

    Attributes:
        done: whether it did what it was started for.
        at: when it did, by the clock of the pod's node; None where it did not.
        error: what it wrote instead.
        untouched: whether it is known that no process got the signal.
        final: whether another attempt would fail as well.
    """

    done: bool
    at: datetime | None = None
    error: str = ""
    untouched: bool = False
    final: bool = False


def read_report(pod: Json, container: str) -> Report | None:
    """Read what an ephemeral container reported; None while it has not ended."""
    for status in pod.get("status", {}).get("ephemeralContainerStatuses") or []:
        terminated = status.get("state", {}).get("terminated")
        if status["name"] == container and terminated is not None:
            return parse_report(terminated)
    return None


def has_started(pod: Json, container: str) -> bool:
    """Whether an ephemeral container runs, or ran."""
    return any(
        status["name"] == container and status.get("state", {}).keys() & {"running", "terminated"}
        for status in pod.get("status", {}).get("ephemeralContainerStatuses") or []
    )


def parse_report(terminated: Json) -> Report:
    """Parse a terminated container's message: JSON with the time, or an error as text."""
    text = str(terminated.get("message") or "")
    try:
        at = from_micros(json.loads(text)["at"])
    except (ValueError, TypeError, KeyError):
        exit_code = terminated.get("exitCode")
        error = text.strip() or f"ended with exit code {exit_code} and no message"
        not_started = terminated.get("reason") in NOT_STARTED
        return Report(
            done=False,
            error=error,
            untouched=not_started or exit_code in {NOT_FOUND, REFUSED},
            final=not_started or exit_code == REFUSED,
        )
    return Report(done=True, at=at)
