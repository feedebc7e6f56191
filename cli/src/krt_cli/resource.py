"""A KafkaResilienceTest as the API server returns it, read through small typed views."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

ERROR = "Error"
"""Phase of a test that the controller ended before there was anything to judge."""

TERMINAL = ("Completed", ERROR, "Aborted")
"""Phases after which nothing changes."""

UNKNOWN = "Unknown"
"""Status of a condition that says nothing yet."""


def parse_time(text: str) -> datetime:
    """Return a Kubernetes time stamp as a datetime."""
    return datetime.fromisoformat(text)


def seconds(start: str | None, end: str | None) -> float | None:
    """Return the seconds between two time stamps, or None where one is missing."""
    return (parse_time(end) - parse_time(start)).total_seconds() if start and end else None


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of ``status.faults``.

    Attributes:
        body: the fault as it stands in the status.
    """

    body: dict[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body["name"])

    @property
    def state(self) -> str:
        """Pending, Scheduled, Injected, Active, Reverted or Skipped."""
        return str(self.body.get("state", "Pending"))

    @property
    def targets(self) -> str:
        """Its targets with zone, or node where no zone is known, joined by commas."""
        return ", ".join(
            f"{target['member']} ({target.get('zone') or target.get('node') or '?'})"
            for target in self.body.get("targets", [])
        )

    @property
    def moments(self) -> list[tuple[str, str]]:
        """What happened to it and when: injected, reverted, recovered."""
        return [
            (self.body[f"{moment}At"], moment)
            for moment in ("injected", "reverted", "recovered")
            if self.body.get(f"{moment}At")
        ]

    @property
    def observations(self) -> dict[tuple[str, str], list[str]]:
        """(time, kind) → what was observed, the user's topics before Kafka's own."""
        found: dict[tuple[str, str], list[str]] = {}
        for item in self.body.get("observations", []):
            at = item.get("at") or self.body["injectedAt"]
            text = f"{item['subject']} {item.get('detail', '')}".strip()
            found.setdefault((at, item["kind"]), []).append(text)
        return {
            key: sorted(texts, key=lambda text: (text.startswith("__"), text))
            for key, texts in found.items()
        }


@dataclass(frozen=True, slots=True)
class Test:
    """A test with its status.

    Attributes:
        body: the resource.
    """

    __test__ = False  # not a test of pytest

    body: dict[str, Any]

    @property
    def status(self) -> dict[str, Any]:
        """Its status; empty before the controller has written it."""
        found: dict[str, Any] = self.body.get("status", {})
        return found

    @property
    def spec(self) -> dict[str, Any]:
        """Its spec."""
        found: dict[str, Any] = self.body.get("spec", {})
        return found

    @property
    def created(self) -> str:
        """When it was created."""
        return str(self.body["metadata"]["creationTimestamp"])

    @property
    def identity(self) -> tuple[str, str, str]:
        """Namespace, name and uid."""
        meta = self.body["metadata"]
        return meta["namespace"], meta["name"], meta["uid"]

    @property
    def faults(self) -> list[Fault]:
        """Its faults."""
        return [Fault(body) for body in self.status.get("faults", [])]

    @property
    def phases(self) -> list[dict[str, Any]]:
        """The phases entered: name, startTime, endTime."""
        return list(self.status.get("phases", []))

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """Its conditions that are True or False."""
        return [item for item in self.status.get("conditions", []) if item["status"] != UNKNOWN]

    @property
    def scored(self) -> bool:
        """Whether its evidence was scored, so that it has a report."""
        return any((item["type"], item["status"]) == ("Scored", "True") for item in self.conditions)

    @property
    def waiting(self) -> tuple[str, str] | None:
        """Reason and message of what a test in phase Pending waits for; None where it does not."""
        if self.status.get("phase", "Pending") != "Pending":
            return None
        for item in self.status.get("conditions", []):
            if item["type"] == "Provisioned" and item["status"] == UNKNOWN:
                return item.get("reason", ""), item.get("message", "")
        return None

    @property
    def finished(self) -> bool:
        """Whether it has ended: nothing of its status changes any more."""
        ended = any(
            item["type"] == "Finished" and item["status"] == "True" for item in self.conditions
        )
        return ended and self.status.get("phase") in TERMINAL
