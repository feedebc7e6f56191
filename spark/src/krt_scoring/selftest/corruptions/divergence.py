"""One replica that holds something else than the others in sync."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies.replica_divergence import (
    CONTENT,
    DAMAGED,
    LACKING,
    LEADER_EPOCH,
    NAME,
)
from krt_scoring.history.replicas import IDENTICAL
from krt_scoring.selftest.corruption import Corruption, Kind, once
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krt_scoring.selftest.baseline import Baseline
    from krt_scoring.selftest.patch import Row


def _changed(row: Row) -> list[Row]:
    return [row | {"crc": row["crc"] ^ 1}]


def _damaged(row: Row) -> list[Row]:
    return [row | {"valid": False}]


def _older(row: Row) -> list[Row]:
    return [row | {"leader_epoch": row["leader_epoch"] + 1}]


def _short(_: Row) -> list[Row]:
    return []


def _apart(
    baseline: Baseline, name: str, tag: str, change: Callable[[Row], list[Row]]
) -> Iterator[Corruption]:
    """Change what one of the compared replicas holds at one offset."""
    chance = baseline.chance(name)
    for point, index in baseline.positions(name):
        position = point.records[index].position
        brokers = baseline.compared.get(position[:2], ())
        rows = {row["broker"]: row for row in baseline.replicas.get(position, ())}
        alike = {
            tuple(rows[broker][column] for column in IDENTICAL)
            for broker in brokers
            if broker in rows
        }
        if len(brokers) < 2 or set(brokers) - set(rows) or len(alike) > 1:  # noqa: PLR2004 (a pair)
            continue
        different = chance.choice(brokers)
        replica_rows = [row for broker, row in rows.items() if broker != different] + change(
            rows[different]
        )
        named: dict[str, Any] = dict(zip(("topic", "partition", "offset"), position, strict=True))
        findings = once(Finding(NAME, tag=tag, **named))
        yield Corruption(
            name, position, Patch(replicas={position: replica_rows}), Difference(findings)
        )


_NEEDS = "two replicas of a partition in sync and dumped whole (evidence.compareReplicas)"

KINDS = tuple(
    Kind(name, (NAME,), _NEEDS, partial(_apart, name=name, tag=tag, change=change))
    for name, tag, change in (
        ("replica-changed", CONTENT, _changed),
        ("replica-damaged", DAMAGED, _damaged),
        ("replica-of-another-epoch", LEADER_EPOCH, _older),
        ("replica-short", LACKING, _short),
    )
)
