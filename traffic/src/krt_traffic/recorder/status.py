"""What the controller did, from the test's status: phases, faults, inconclusive reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from krt_contract.timeline import EventName, Source
from krt_traffic.recorder.timeline import micros

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_traffic.kubernetes.objects import Fault, KafkaResilienceTest
    from krt_traffic.recorder.timeline import Timeline

SKIPPED = "Skipped"
_TIME_FIELD = re.compile(r"^(at|.*At)$")


class Event(NamedTuple):
    """An event that the test's status shows.

    Attributes:
        source: its source in the timeline.
        name: the timeline event, or the code of an inconclusive reason.
        subject: the phase or fault it is about.
        detail: its further fields.
        time: the status' own time of it (RFC 3339); None where it gives none.
    """

    source: Source
    name: str
    subject: str
    detail: dict[str, Any]
    time: str | None = None


class StatusEvents:
    """Turns the test's status into timeline events, each written once and with the status' time.

    Args:
        timeline: where events go.
        faults: name → action and duration in microseconds, from the plan.
        injected: called once for each injected fault, with its name and time (UTC microseconds).
    """

    def __init__(
        self,
        timeline: Timeline,
        faults: Mapping[str, dict[str, Any]],
        injected: Callable[[str, int], None],
    ) -> None:
        self._timeline, self._faults, self._injected = timeline, faults, injected
        self._recorded: set[tuple[str, ...]] = set()

    def listed(self, items: list[KafkaResilienceTest]) -> None:
        """Take the test as listed."""
        for item in items:
            self.changed("ADDED", item)

    def changed(self, kind: str, item: KafkaResilienceTest) -> None:
        """Take a change of the test; its deletion adds nothing to the timeline."""
        if kind == "DELETED":
            return
        for phase in item.status.phases:
            if time := phase.start_time:
                self._once(Event(Source.PHASE, EventName.ENTERED, phase.name, {}, time))
        for fault in item.status.faults:
            self._fault(fault)
        for reason in item.status.inconclusive_reasons:
            detail = {"kind": reason.kind, "message": reason.message}
            event = Event(Source.GUARD, reason.code, "", detail, reason.at)
            self._once(event, str(reason.at))

    def _fault(self, fault: Fault) -> None:
        detail = self._faults.get(fault.name, {}) | {"targets": list(fault.targets)}
        moments = {
            EventName.INJECTED: fault.injected_at,
            EventName.REVERTED: fault.reverted_at,
            EventName.RECOVERED: fault.recovered_at,
        }
        for name, time in moments.items():
            if not time:
                continue
            new = self._once(Event(Source.FAULT, name, fault.name, detail, time), time)
            if new and name is EventName.INJECTED:
                self._injected(fault.name, micros(time))
        if fault.state == SKIPPED:
            skipped = detail | {"message": fault.message or ""}
            self._once(Event(Source.FAULT, EventName.SKIPPED, fault.name, skipped))
        if fault.verified is not None:
            observed = {
                "verified": fault.verified,
                "observations": [in_micros(item) for item in fault.observations],
            }
            event = Event(Source.FAULT, EventName.OBSERVED, fault.name, observed)
            self._once(event, str(fault.verified), str(len(fault.observations)))

    def _once(self, event: Event, *state: str) -> bool:
        """Write an event unless it was written in the same state; return whether it was new."""
        key = (event.source, event.name, event.subject, *state)
        if key in self._recorded:
            return False
        at = micros(event.time) if event.time else None
        self._timeline.write(event.source, event.name, event.subject, event.detail, at=at)
        self._recorded.add(key)
        return True


def in_micros(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the status with its times as UTC microseconds."""
    return {
        name: micros(item) if isinstance(item, str) and item and _TIME_FIELD.match(name) else item
        for name, item in value.items()
    }
