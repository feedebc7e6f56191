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

    from krt_scoring.selftest.baseline import Ground
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
    ground: Ground, name: str, tag: str, change: Callable[[Row], list[Row]]
) -> Iterator[Corruption]:
    """Change what one of the compared replicas holds at one offset."""
    chance = ground.chance(name)
    for site, index in ground.positions(name):
        position = site.records[index].position
        brokers = ground.compared.get(position[:2], ())
        rows = {row["broker"]: row for row in ground.replicas.get(position, ())}
        alike = {tuple(rows[one][column] for column in IDENTICAL) for one in brokers if one in rows}
        if len(brokers) < 2 or set(brokers) - set(rows) or len(alike) > 1:  # noqa: PLR2004 (a pair)
            continue
        odd = chance.choice(brokers)
        held = [row for broker, row in rows.items() if broker != odd] + change(rows[odd])
        named: dict[str, Any] = dict(zip(("topic", "partition", "offset"), position, strict=True))
        found = once(Finding(NAME, tag=tag, **named))
        yield Corruption(name, position, Patch(replicas={position: held}), Difference(found))


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
