"""What the controller did, from the test's status: phases, faults, inconclusive reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from krt_traffic.recorder.timeline import micros

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_traffic.kubernetes.objects import Fault, KafkaResilienceTest
    from krt_traffic.recorder.timeline import Timeline

SKIPPED = "Skipped"
_TIME_FIELD = re.compile(r"^(at|.*At)$")


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
            if phase.start_time:
                self._once(
                    ("phase", phase.name), "phase", "entered", phase.name, {}, phase.start_time
                )
        for fault in item.status.faults:
            self._fault(fault)
        for reason in item.status.inconclusive_reasons:
            detail = {"kind": reason.kind, "message": reason.message}
            self._once(
                ("guard", reason.code, str(reason.at)), "guard", reason.code, "", detail, reason.at
            )

    def _fault(self, fault: Fault) -> None:
        detail = self._faults.get(fault.name, {}) | {"targets": list(fault.targets)}
        moments = {
            "injected": fault.injected_at,
            "reverted": fault.reverted_at,
            "recovered": fault.recovered_at,
        }
        for event, time in moments.items():
            if time:
                key = ("fault", fault.name, event, time)
                if event == "injected" and key not in self._recorded:
                    self._injected(fault.name, micros(time))
                self._once(key, "fault", event, fault.name, detail, time)
        if fault.state == SKIPPED:
            skipped = detail | {"message": fault.message or ""}
            key = ("fault", fault.name, "skipped", "")
            self._once(key, "fault", "skipped", fault.name, skipped, None)
        if fault.verified is not None:
            key = ("fault", fault.name, str(fault.verified), str(len(fault.observations)))
            observed = {
                "verified": fault.verified,
                "observations": [in_micros(item) for item in fault.observations],
            }
            self._once(key, "fault", "observed", fault.name, observed, None)

    def _once(  # noqa: PLR0913, PLR0917 - the fields of an event, and its key
        self,
        key: tuple[str, ...],
        source: str,
        event: str,
        subject: str,
        detail: dict[str, Any],
        time: str | None,
    ) -> None:
        if key not in self._recorded:
            self._recorded.add(key)
            at = micros(time) if time else None
            self._timeline.write(source, event, subject, detail, at=at)


def in_micros(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the status with its times as UTC microseconds."""
    return {
        name: micros(item) if isinstance(item, str) and item and _TIME_FIELD.match(name) else item
        for name, item in value.items()
    }
