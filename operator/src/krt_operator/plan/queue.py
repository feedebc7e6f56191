"""The queue: which tests may run at the same time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_operator.api.status import Phase, is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.engine.progress import Run
    from krt_operator.engine.views import Json


class Queue:
    """The unfinished tests before one that waits, and the slots that they leave.

    Tests at work hold their slots. The others get the free slots in the order of their creation; a
    test whose namespace has none left is passed over, so that it does not hold up other namespaces.
    The order is the same for every test, so no two tests take the same slot.

    Args:
        tests: every test that the controller watches.
        run: the test that waits.
        limit: tests at work at the same time.
        namespace_limit: the same in each namespace; 0: no limit.
    """

    def __init__(self, tests: Iterable[Json], run: Run, limit: int, namespace_limit: int) -> None:
        self._limit, self._namespace_limit, self._namespace = limit, namespace_limit, run.namespace
        others = [
            item
            for item in tests
            if item["metadata"]["uid"] != run.uid and not is_terminal(_phase(item))
        ]
        working = [item for item in others if _phase(item) not in {None, "", Phase.PENDING.value}]
        place = (run.created.strftime("%Y-%m-%dT%H:%M:%SZ"), run.uid)
        before = sorted(
            (item for item in others if item not in working and _place(item) < place), key=_place
        )
        self.ahead = len(working) + len(before)
        """Unfinished tests before this one, those at work included."""
        self._slots = Counter(item["metadata"]["namespace"] for item in working)
        for item in before:
            namespace = item["metadata"]["namespace"]
            self._slots[namespace] += not self._full(namespace)

    @property
    def obstacle(self) -> str:
        """What the test waits for; empty where it may start."""
        if not self._full(self._namespace):
            return ""
        limit, where = self._limit, ""
        if self._slots.total() < self._limit:
            limit, where = self._namespace_limit, f" in namespace {self._namespace}"
        return f"tests ahead in the queue: {self.ahead}; {limit} may run at the same time{where}"

    def _full(self, namespace: str) -> bool:
        return (
            self._slots.total() >= self._limit
            or 0 < self._namespace_limit <= self._slots[namespace]
        )


def _phase(test: Json) -> str | None:
    phase: str | None = (test.get("status") or {}).get("phase")
    return phase


def _place(test: Json) -> tuple[str, str]:
    return test["metadata"]["creationTimestamp"], test["metadata"]["uid"]
