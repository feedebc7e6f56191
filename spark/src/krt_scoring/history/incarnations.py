"""The producer incarnations of a run: what records, log and producer summaries show of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.identity import Incarnation, ProducerSummary, key, ours
from krt_scoring.history.record_columns import ACKED, FAILED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, Row

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables
    from krt_scoring.history.tally import Tally

NAMES = ("producer", "producer_incarnation")
COUNTS = ("attempted", "acked", "failed", "unknown")


def with_incarnations(facts: Facts, tables: Tables, tallies: Iterable[Tally]) -> Facts:
    """Return the facts with what the records tally up to.

    Raises:
        ValueError: two incarnations share a key (chance below 1e-12 for a thousand of them).
    """
    by_key: dict[int, list[Tally]] = {}
    for tally in tallies:
        by_key.setdefault(tally.pk, []).append(tally)
    summaries: dict[int, list[Row]] = {}
    for row in tables.producer_summary.withColumn("pk", key()).collect():
        summaries.setdefault(row["pk"], []).append(row)
    names = _names(tables, set(by_key) | set(summaries), summaries)
    logged = sum(tally.log_rows for tally in tallies)
    delivered = sum(tally.got_rows for tally in tallies)
    log_records, deliveries = tables.count("log"), tables.count("consume")
    return replace(
        facts,
        incarnations={
            pk: _incarnation(pk, names[pk], by_key.get(pk, []), summaries.get(pk, []))
            for pk in sorted(names)
        },
        log_records=log_records,
        deliveries=deliveries,
        strays=log_records - logged,
        stray_deliveries=deliveries - delivered,
    )


def _names(
    tables: Tables, keys: set[int], summaries: dict[int, list[Row]]
) -> dict[int, tuple[str, str]]:
    """Return key → names: of the summary, or else of some row of the incarnation."""
    found = _checked(
        (row[NAMES[0]], row[NAMES[1]], pk) for pk in summaries for row in summaries[pk]
    )
    mine = ours(tables.run)
    for rows in (tables.produce, tables.log.filter(mine), tables.consume.filter(mine)):
        missing = sorted(keys - set(found))
        if not missing:
            break
        found |= _checked(_searched(rows, missing))
    return found


def _searched(rows: DataFrame, keys: list[int]) -> list[tuple[str, str, int]]:
    named = rows.select(*NAMES, key().alias("pk")).filter(sf.col("pk").isin(keys))
    return [(row[NAMES[0]], row[NAMES[1]], row["pk"]) for row in named.distinct().collect()]


def _checked(rows: Iterable[tuple[str, str, int]]) -> dict[int, tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    for producer, incarnation, pk in rows:
        if found.setdefault(pk, (producer, incarnation)) != (producer, incarnation):
            raise ValueError(f"{producer}/{incarnation}: key taken by {'/'.join(found[pk])}")
    return found


def _incarnation(
    pk: int, names: tuple[str, str], tallies: list[Tally], summaries: list[Row]
) -> Incarnation:
    def rows(code: int) -> int:
        return sum(tally.rows for tally in tallies if tally.outcome == code)

    return Incarnation(
        key=pk,
        producer=names[0],
        incarnation=names[1],
        rows=sum(tally.rows for tally in tallies),
        acked=rows(ACKED),
        failed=rows(FAILED),
        unknown=rows(UNKNOWN),
        sent=max((tally.highest for tally in tallies if tally.outcome is not None), default=-1),
        known=max((tally.known for tally in tallies), default=-1),
        highest=max((tally.highest for tally in tallies), default=-1),
        repeated=_repeated(tallies),
        summaries=len(summaries),
        summary=_summary(summaries) if summaries else None,
        outcomes=_outcomes(tallies),
    )


def _outcomes(tallies: list[Tally]) -> dict[str, int]:
    found = Counter[str]()
    for tally in tallies:
        if tally.outcome is not None:
            found[tally.record_outcome] += tally.records
    return dict(found)


def _repeated(tallies: list[Tally]) -> int:
    """Return the rows of a ledger beyond the first of each send."""
    return sum(tally.rows - tally.records for tally in tallies if tally.outcome is not None)


def _summary(rows: list[Row]) -> ProducerSummary:
    return ProducerSummary(*[max(row[name] for row in rows) for name in COUNTS])
