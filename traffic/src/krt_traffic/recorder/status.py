"""What the controller did, from the test's status: phases, faults, guards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_traffic.recorder.timeline import micros

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.recorder.timeline import Timeline

MOMENTS = (
    ("injectedAt", EventName.INJECTED),
    ("revertedAt", EventName.REVERTED),
    ("recoveredAt", EventName.RECOVERED),
)
SKIPPED = "Skipped"
_TIME_FIELD = re.compile(r"^(at|.*At)$")


class StatusEvents:
    """Turns the test's status into timeline events, each said once and with the journal's time.

    Args:
        timeline: where events go.
        faults: name → action and duration in microseconds, from the plan.
        injected: told the name and time (UTC microseconds) of each injected fault, once.
    """

    def __init__(
        self,
        timeline: Timeline,
        faults: dict[str, dict[str, Any]],
        injected: Callable[[str, int], None],
    ) -> None:
        self._timeline, self._faults, self._injected = timeline, faults, injected
        self._said: set[tuple[str, ...]] = set()

    def listed(self, items: list[dict[str, Any]]) -> None:
        """Take the test as listed."""
        for item in items:
            self.changed("ADDED", item)

    def changed(self, kind: str, item: dict[str, Any]) -> None:
        """Take a change of the test; its deletion says nothing new."""
        if kind == "DELETED":
            return
        status = item.get("status") or {}
        for phase in status.get("phases") or ():
            if phase.get("startTime"):
                name = str(phase["name"])
                key = (Source.PHASE, name)
                self._once(key, Source.PHASE, EventName.ENTERED, name, {}, phase["startTime"])
        for fault in status.get("faults") or ():
            self._fault(fault)
        for guard in status.get("inconclusiveReasons") or ():
            detail = {"kind": guard.get("kind"), "message": guard.get("message")}
            code = str(guard["code"])
            said = (Source.GUARD, code, str(guard.get("at")))
            self._once(said, Source.GUARD, code, "", detail, guard.get("at"))

    def _fault(self, fault: dict[str, Any]) -> None:
        name = fault["name"]
        detail = self._faults.get(name, {}) | {"targets": fault.get("targets") or []}
        for field, event in MOMENTS:
            if fault.get(field):
                key = (Source.FAULT, name, event, fault[field])
                if field == MOMENTS[0][0] and key not in self._said:
                    self._injected(name, micros(fault[field]))
                self._once(key, Source.FAULT, event, name, detail, fault[field])
        if fault.get("state") == SKIPPED:
            message = {"message": fault.get("message") or ""}
            skipped = (Source.FAULT, name, EventName.SKIPPED)
            self._once(skipped, Source.FAULT, EventName.SKIPPED, name, detail | message, None)
        if "verified" in fault:
            observations = [in_micros(item) for item in fault.get("observations") or ()]
            verified = bool(fault["verified"])
            said = (Source.FAULT, name, EventName.OBSERVED, str(verified), str(len(observations)))
            told = {"verified": verified, "observations": observations}
            self._once(said, Source.FAULT, EventName.OBSERVED, name, told, None)

    def _once(  # noqa: PLR0913, PLR0917 - what an event has, and its key
        self,
        key: tuple[str, ...],
        source: str,
        event: str,
        subject: str,
        detail: dict[str, Any],
        time: str | None,
    ) -> None:
        if key not in self._said:
            self._said.add(key)
            at = micros(time) if time else None
            self._timeline.write(source, event, subject, detail, at=at)


def in_micros(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the status with its times as UTC microseconds."""
    return {
        name: micros(item) if isinstance(item, str) and item and _TIME_FIELD.match(name) else item
        for name, item in value.items()
    }
