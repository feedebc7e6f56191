"""The queue: which tests may run at the same time, and which may start."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_operator.api.status import ConditionStatus, ConditionType, Phase, is_terminal
from krt_operator.engine.views import ObjectView
from krt_operator.plan.capacity import PRESSURE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.engine.progress import Run
    from krt_operator.engine.views import Json

QUEUED: Final = "Queued"
"""Reason of the condition Provisioned while a test waits for others to end, or to start."""

NOT_BEGUN: Final = frozenset({"", Phase.PENDING.value})
"""Phases of a test that has not begun; empty before the first is written."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of tests.

    Attributes:
        running: at work at the same time.
        per_namespace: the same in each namespace; 0: no limit.
        starting: being provisioned, or not writing promptly yet, at the same time; 0: no limit.
    """

    running: int
    per_namespace: int
    starting: int


class Queue:
    """The unfinished tests before one that waits, and the slots that they leave.

    Tests at work hold their slots. The others get the free slots in the order of their creation; a
    test whose namespace has none left is passed over, so that it does not hold up other namespaces.
    The order is the same for every test, so no two tests take the same slot.

    Args:
        tests: every test that the controller watches.
        run: the test that waits.
        limits: how many may run, and how many may start.
    """

    def __init__(self, tests: Iterable[Json], run: Run, limits: Limits) -> None:
        self._limits, self._namespace = limits, run.namespace
        others = [
            item
            for item in tests
            if item["metadata"]["uid"] != run.uid and not is_terminal(ObjectView(item).phase)
        ]
        working = [item for item in others if ObjectView(item).phase not in NOT_BEGUN]
        place = (run.created.strftime("%Y-%m-%dT%H:%M:%SZ"), run.uid)
        before = sorted(
            (item for item in others if item not in working and _place(item) < place), key=_place
        )
        self.ahead = len(working) + len(before)
        """Unfinished tests before this one, those at work included."""
        self._slots = Counter(item["metadata"]["namespace"] for item in working)
        self._starting = sum(map(_starts, working))
        for item in before:
            namespace = item["metadata"]["namespace"]
            if self._full(namespace):
                continue
            self._slots[namespace] += 1
            # One that waits for its nodes would hold up all others.
            waits = ObjectView(item).condition(ConditionType.PROVISIONED, ConditionStatus.UNKNOWN)
            self._starting += waits is None or waits.reason != PRESSURE

    @property
    def obstacle(self) -> str:
        """Why the test may not run; empty where it may."""
        if not self._full(self._namespace):
            return ""
        limit, where = self._limits.running, ""
        if self._slots.total() < limit:
            limit, where = self._limits.per_namespace, f" in namespace {self._namespace}"
        return f"tests ahead in the queue: {self.ahead}; {limit} may run at the same time{where}"

    @property
    def others_starting(self) -> str:
        """Why the test, which may run, may not start now; empty where it may."""
        if not 0 < self._limits.starting <= self._starting:
            return ""
        return (
            f"tests that are starting: {self._starting}; {self._limits.starting} may start at the "
            "same time; one starts until its writes are prompt"
        )

    def _full(self, namespace: str) -> bool:
        return (
            self._slots.total() >= self._limits.running
            or 0 < self._limits.per_namespace <= self._slots[namespace]
        )


def _starts(test: Json) -> bool:
    """Whether a test at work takes much processor time to start, or is not known to run well."""
    view = ObjectView(test)
    return view.phase == Phase.PROVISIONING or (
        view.phase == Phase.WARMUP and view.condition(ConditionType.TRAFFIC_ESTABLISHED) is None
    )


def _place(test: Json) -> tuple[str, str]:
    return test["metadata"]["creationTimestamp"], test["metadata"]["uid"]
