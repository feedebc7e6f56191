"""What the claims are held against: findings, timeline, gaps, and the ledgers' columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from krt_scoring.expectations.states import States
from krt_scoring.verdict.verdict import voided

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from krt_contract.plan import Plan
    from krt_scoring.anomalies.findings import AnomalyResult
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.metrics.gaps import Gap, Measured
    from krt_scoring.metrics.recovery import Recovery

BATCH_ROWS = 65_536
"""Rows of a ledger looked at together; bounds memory whatever the run's length."""


@dataclass(frozen=True)
class Evidence:
    """Everything a claim may be judged by.

    Attributes:
        windows: the faults; ``verified`` says which of them are known to have acted.
        gaps, measured, thresholds: availability (``krt_scoring.metrics.gaps``).
        files: table of the bundle → its usable files.
        logs: folder of the members' logs.
        end: when the run ended, UTC µs.
    """

    run: Plan
    timeline: Timeline
    windows: Sequence[FaultWindow] = ()
    verified: Mapping[str, bool] = field(default_factory=dict)
    ledger: Mapping[str, int] = field(default_factory=dict)
    anomalies: Mapping[str, AnomalyResult] = field(default_factory=dict)
    reasons: Sequence[Reason] = ()
    gaps: Sequence[Gap] = ()
    measured: Sequence[Measured] = ()
    thresholds: Mapping[tuple[str, str], int] = field(default_factory=dict)
    recoveries: Sequence[Recovery] = ()
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    logs: Path | None = None
    end: int = 0

    @cached_property
    def states(self) -> States:
        """States of the partitions of the tested topics."""
        return States.of(self.timeline, self.run)

    @cached_property
    def void(self) -> frozenset[str]:
        """Anomalies that rest on damaged evidence."""
        return voided(self.reasons)

    def window(self, fault: str) -> FaultWindow | None:
        """Return a fault that is known to have acted, None for any other."""
        for window in self.windows:
            if window.name == fault and window.injected_at is not None and self.verified.get(fault):
                return window
        return None

    def rows(self, table: str, *columns: str) -> Iterator[dict[str, list[Any]]]:
        """Yield columns of a ledger, a batch at a time."""
        for batch in self.batches(table, *columns):
            yield batch.to_pydict()

    def batches(self, table: str, *columns: str) -> Iterator[Any]:
        """Yield columns of a ledger as Arrow batches."""
        for path in self.files.get(table, ()):
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(BATCH_ROWS, columns=list(columns))
