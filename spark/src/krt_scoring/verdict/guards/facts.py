"""What the guards look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.plan import Plan
    from krt_scoring.history.ownership import Interval
    from krt_scoring.history.replicas import Partition
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.inspection import Inspection
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.metrics.gaps import Gap
    from krt_scoring.metrics.operations import Operations


@dataclass(frozen=True, slots=True)
class Bound:
    """One partition's row of ``log_end_offsets``."""

    topic: str
    partition: int
    settled: bool
    read_from: int
    read_to: int
    log_start: int
    high_watermark: int
    rows_read: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a guard may judge by; nothing in it grows with the records.

    Attributes:
        thresholds: (direction, group) to the shortest gap that could be seen, µs.
        violations: anomaly to findings that nothing known permits.
        ownerships: who owned which partition in which group, and when.
        replicas: what was dumped of each partition's replicas; empty where that was not asked for.
    """

    run: Plan
    inspection: Inspection
    timeline: Timeline
    windows: tuple[FaultWindow, ...]
    operations: Operations
    bounds: tuple[Bound, ...]
    ledger: Mapping[str, int]
    gaps: tuple[Gap, ...]
    thresholds: Mapping[tuple[str, str], int]
    violations: Mapping[str, int] = field(default_factory=dict)
    ownerships: tuple[Interval, ...] = ()
    replicas: tuple[Partition, ...] = ()
