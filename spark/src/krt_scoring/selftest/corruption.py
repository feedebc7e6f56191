"""One corruption: what is changed, and exactly what difference that makes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import READ_COMMITTED, DeliveryOutcome, LogState
from krt_scoring.selftest.difference import Difference, Finding, plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krt_scoring.selftest.baseline import Baseline, MutationPoint, Record
    from krt_scoring.selftest.patch import Patch, Place, Row


@dataclass(frozen=True)
class Corruption:
    """A corruption of one place.

    Attributes:
        at: where.
        patch: what is changed.
        expected: the difference it makes.
        depends_on: what no other corruption of the same copy may touch: the difference depends
            on it, though it is not changed.
    """

    name: str
    at: Place | tuple[str, int, None] | None
    patch: Patch
    expected: Difference
    depends_on: frozenset[object] = frozenset()

    @property
    def reserved(self) -> frozenset[object]:
        """Everything a corruption beside it must leave alone."""
        return self.patch.touches | self.depends_on


@dataclass(frozen=True)
class Kind:
    """A way to corrupt evidence.

    Attributes:
        anomalies: those whose rule it tests.
        needs: what a run must have to host it; the reason where it has not.
        attempts: yields corruptions of a baseline that can host it, the preferred first.
    """

    name: str
    anomalies: tuple[str, ...]
    needs: str
    attempts: Callable[[Baseline], Iterator[Corruption]] = field(repr=False)


def of_record(anomaly: str, record: Record, **more: Any) -> Finding:
    """Return a finding about a record."""
    topic, partition, offset = record.position
    producer, incarnation, seq = record.sent
    named: dict[str, Any] = {"topic": topic, "partition": partition, "offset": offset}
    named |= {"producer": producer, "producer_incarnation": incarnation, "seq": seq}
    return Finding(anomaly, **(named | more))


def of_delivery(anomaly: str, row: Row, **more: Any) -> Finding:
    """Return a finding about a delivery."""
    named = {name: row[name] for name in ("topic", "partition", "offset")}
    named |= {name: row[name] for name in ("consumer", "incarnation", "event_seq")}
    return Finding(anomaly, grp=row["group"], **(named | more))


def once(*findings: Finding) -> Counter[Finding]:
    """Return each finding once."""
    return Counter(findings)


def reading(
    baseline: Baseline,
    point: MutationPoint,
    group: str,
    after: list[Row],
    log: list[Row] | None = None,
) -> Counter[Finding]:
    """Return what changes about the order in which a group read a mutation point.

    The definitions applied literally to the few rows there are: steps between consecutive ok
    deliveries by the dense index, first deliveries of a key against their order in the log.

    Args:
        baseline: for the group's isolation.
        point: where.
        group: its name.
        after: the deliveries of the point to the group, in the copy.
        log: the log of the point in the copy, where it is another.
    """
    before = [record.log for record in point.records]
    committed = baseline.group(group).committed_only
    findings = _order(point.read(group), before, committed=committed)
    return plus(
        _order(after, log if log is not None else before, committed=committed), findings, -1
    )


def _order(rows: list[Row], log: list[Row], *, committed: bool) -> Counter[Finding]:
    ok = (row for row in rows if row["outcome"] == DeliveryOutcome.OK)
    read = sorted(ok, key=lambda row: row["event_seq"])
    states = READ_COMMITTED if committed else tuple(LogState)
    seen = {row["offset"] for row in log if row["state"] in states}
    index = {at: rank for rank, at in enumerate(sorted(seen | {row["offset"] for row in read}))}
    findings: Counter[Finding] = Counter()
    for before, row in pairwise(read):
        jump = index[row["offset"]] - index[before["offset"]]
        inside = "int-" if row["poll"] == before["poll"] else ""
        if jump != 1:
            kind = "poll-skip" if jump > 1 else "nonmonotonic-poll"
            findings[of_delivery(inside + kind, row)] += 1
    keys = {row["offset"]: row["key"] for row in log if row["key"] is not None}
    last: dict[str, int] = {}
    # Reversed, so that of several deliveries of an offset the first stays.
    first = {row["offset"]: row for row in reversed(read)}.values()
    for row in sorted(first, key=lambda row: row["event_seq"]):
        key = keys.get(row["offset"])
        if key is None:
            continue
        if row["offset"] < last.get(key, -1):
            findings[of_delivery("key-order", row)] += 1
        last[key] = row["offset"]
    return findings
