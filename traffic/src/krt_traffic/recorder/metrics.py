"""The metrics of the cluster and of the run, from what the recorder writes to the timeline."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from krt_contract.metrics import (
    BROKER_AVAILABLE,
    FAULT_ACTIVE,
    OFFLINE,
    PARTITION_ISR,
    PARTITION_LEADER,
    PHASE,
    TIMELINE_EVENTS,
    TIMELINE_GAPS,
    UNDER_REPLICATED,
)
from krt_contract.timeline import EventName, Source
from krt_traffic.metrics.families import values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client.metrics_core import Metric as Family

    from krt_contract.plan import Plan
    from krt_contract.timeline import Event

NO_LEADER: Final = -1

ACTIVE: Final = {EventName.INJECTED: 1, EventName.REVERTED: 0, EventName.RECOVERED: 0}
"""Event of a fault → whether it is active from then on."""

AVAILABLE: Final = {EventName.UNFENCED: 1, EventName.FENCED: 0, EventName.UNREGISTERED: 0}
"""Event of a broker → whether it is available from then on."""


class RunMetrics:
    """Folds the events of the timeline into the state of now.

    Args:
        plan: the run.
        counts: events and gaps of the timeline, as it counts them.
    """

    def __init__(self, plan: Plan, counts: Mapping[str, int]) -> None:
        self._test, self._counts = plan.name, counts
        self._replicas = {topic.name: topic.replication_factor for topic in plan.topics}
        self._lock = threading.Lock()
        self._phases: dict[str, int] = {}
        self._faults = {(fault.name, str(fault.action)): 0 for fault in plan.faults}
        self._actions = {fault.name: str(fault.action) for fault in plan.faults}
        self._brokers: dict[str, int] = {}
        self._leaders: dict[tuple[str, str], int] = {}
        self._isr: dict[tuple[str, str], int] = {}
        self._largest_isr: dict[tuple[str, str], int] = {}

    def observe(self, event: Event) -> None:
        """Take an event that was written."""
        with self._lock:
            match event.source:
                case Source.PHASE:
                    self._phases = {**dict.fromkeys(self._phases, 0), event.subject: 1}
                case Source.FAULT if event.event in ACTIVE:
                    action = self._actions.get(event.subject, "")
                    self._faults[event.subject, action] = ACTIVE[EventName(event.event)]
                case Source.BROKER:
                    self._broker(event)
                case Source.PARTITION if event.event == EventName.STATE:
                    self._partition(event.subject, event.detail)

    def collect(self) -> Iterator[Family]:
        """Yield the metrics."""
        test = self._test
        with self._lock:
            phases, faults = self._phases, self._faults.copy()
            brokers, leaders, isr = self._brokers.copy(), self._leaders.copy(), self._isr.copy()
            short = sum(size < self._replication(key) for key, size in isr.items())
        leaderless = sum(leader == NO_LEADER for leader in leaders.values())
        own = [key for key in leaders if key[0] in self._replicas]
        yield values(PHASE, [((test, name), now) for name, now in phases.items()])
        yield values(FAULT_ACTIVE, [((test, *fault), active) for fault, active in faults.items()])
        yield values(PARTITION_LEADER, [((test, *key), leaders[key]) for key in own])
        yield values(PARTITION_ISR, [((test, *key), isr[key]) for key in own])
        yield values(UNDER_REPLICATED, [((test,), short)])
        yield values(OFFLINE, [((test,), leaderless)])
        yield values(BROKER_AVAILABLE, [((test, broker), up) for broker, up in brokers.items()])
        yield values(TIMELINE_EVENTS, [((test,), self._counts["events"])])
        yield values(TIMELINE_GAPS, [((test,), self._counts["gaps"])])

    def _broker(self, event: Event) -> None:
        if event.event == EventName.REGISTERED:
            # With KRaft a broker registers fenced.
            self._brokers[event.subject] = int(not event.detail.get("fenced", False))
        elif event.event in AVAILABLE:
            self._brokers[event.subject] = AVAILABLE[EventName(event.event)]

    def _partition(self, name: str, detail: Mapping[str, Any]) -> None:
        topic, _, number = name.rpartition("-")
        key, size = (topic, number), len(detail["isr"])
        self._leaders[key], self._isr[key] = int(detail["leader"]), size
        self._largest_isr[key] = max(size, self._largest_isr.get(key, 0))

    def _replication(self, key: tuple[str, str]) -> int:
        return self._replicas.get(key[0], self._largest_isr[key])
