"""A corrupted copy of a history: the same tables with some rows in the place of others."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_contract.timeline import Event, EventName, Source
from krt_scoring.engine import local_rows
from krt_scoring.history import tables as history_module
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.history.tables import SCHEMAS
from krt_scoring.selftest.baseline import STRIDE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables
    from krt_scoring.selftest.patch import (
        Patch,
        Place,
        Row,
        Sent,
        ShortIsr,
    )


def corrupted(history: Tables, facts: Facts, patch: Patch) -> Tables:
    """Return a copy of a history with a patch applied; the history itself stays as it is."""
    log = history.log.filter(~_at(facts, patch.log))
    consume = history.consume.filter(~_at(facts, patch.consume))
    tables = {
        "produce": _added(history.produce.filter(~_sent(patch.produce)), "produce", patch.produce),
        "producer_summary": _closed(history.producer_summary, patch),
        "log": _added(log, "log", patch.log),
        "consume": _added(_strided(consume), "consume", patch.consume),
        "consumer_events": _added(
            _strided(history.consumer_events), "consumer_events", {0: list(patch.events)}
        ),
        "log_end_offsets": history.log_end_offsets,
        "replica_log": _added(
            history.replica_log.filter(~_at(facts, patch.replicas)), "replica_log", patch.replicas
        ),
        "replica_bounds": history.replica_bounds,
    }
    return history_module.build(history.run, tables, _timeline(history.timeline, patch.states))


def _strided(rows: DataFrame) -> DataFrame:
    return rows.withColumns({name: sf.col(name) * STRIDE for name in ("event_seq", "poll")})


def _at(facts: Facts, positions: Collection[Place]) -> Column:
    known = [
        (facts.positions.tp(topic, partition) << OFFSET_BITS) + offset
        for topic, partition, offset in sorted(positions)
    ]
    # A place that is not of the run stays.
    return sf.coalesce(facts.positions.column().isin(known), sf.lit(col=False))


def _sent(sends: Collection[Sent]) -> Column:
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for producer, incarnation, seq in sorted(sends):
        numbers[producer, incarnation].append(seq)
    conditions = [
        (sf.col("producer") == producer)
        & (sf.col("producer_incarnation") == incarnation)
        & sf.col("seq").isin(seqs)
        for (producer, incarnation), seqs in numbers.items()
    ]
    return reduce(or_, conditions, sf.lit(col=False))


def _added(rows: DataFrame, table: str, changes: dict[Any, list[Row]]) -> DataFrame:
    schema = SCHEMAS[table]
    added = [
        tuple(row.get(name) for name in schema.names) for key in changes for row in changes[key]
    ]
    if not added:
        return rows
    return rows.select(*schema.names).unionAll(local_rows.frame(rows.sparkSession, added, schema))


def _closed(rows: DataFrame, patch: Patch) -> DataFrame:
    for (producer, incarnation, name), delta in sorted(patch.close.items()):
        his = (sf.col("producer") == producer) & (sf.col("producer_incarnation") == incarnation)
        rows = rows.withColumn(name, sf.col(name) + sf.when(his, delta).otherwise(0))
    return rows


def _timeline(events: Iterable[Event], states: Iterable[ShortIsr]) -> list[Event]:
    timeline = list(events)
    for short in states:
        subject = f"{short.topic}-{short.partition}"
        mine = [event for event in timeline if _is_state(event, subject)]
        others = [event for event in timeline if not _is_state(event, subject)]
        # Versions in steps, so that a state fits between two others.
        spread = [_versioned(event, _version(event) * STRIDE) for event in mine]
        before = [event for event in spread if event.at <= short.begin]
        last = max(before, key=lambda event: (_epoch(event), _version(event)), default=None)
        timeline = [*others, *spread, *_dip(short, subject, last)]
    return timeline


def _dip(short: ShortIsr, subject: str, last: Event | None) -> list[Event]:
    full_isr = list(last.detail["isr"]) if last else [*short.isr, len(short.isr)]
    detail = dict(last.detail) if last else {"leader": full_isr[0], "leader_epoch": 0, "version": 0}
    base = Event(short.begin, 0, Source.PARTITION, EventName.STATE, subject, detail)
    version = _version(base)
    return [
        _versioned(replace(base, detail=detail | {"isr": list(short.isr)}), version + 1),
        _versioned(replace(base, at=short.end, detail=detail | {"isr": full_isr}), version + 2),
    ]


def _is_state(event: Event, subject: str) -> bool:
    return (event.source, event.event, event.subject) == (
        Source.PARTITION,
        EventName.STATE,
        subject,
    )


def _epoch(event: Event) -> int:
    return int(event.detail["leader_epoch"])


def _version(event: Event) -> int:
    return int(event.detail.get("version", 0))


def _versioned(event: Event, version: int) -> Event:
    return replace(event, detail=event.detail | {"version": version})
