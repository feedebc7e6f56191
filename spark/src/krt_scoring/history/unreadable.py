"""Unreadable payloads: bytes that carry no identity of the run any more.

Where the log, an ack or another delivery says which record has that place, they are that record's,
damaged; else they may be anybody's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import DeliveryOutcome, SendOutcome
from krt_scoring.engine import local_rows
from krt_scoring.history.identity import ours
from krt_scoring.history.positions import Positions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.tables import Tables

FEW = 10_000
"""Unreadable payloads whose records the driver keeps; 2 MB."""

IDENTITY = ("producer", "producer_incarnation", "seq")


def identify(tables: Tables) -> Tables:
    """Return the evidence with unreadable payloads named after the record that has their place.

    Their checksum stays wrong. In the log that record is the one that was acked there, the last one
    if there were several; else the one that was delivered from there. Of a delivery it is what the
    log holds there, else the same.
    """
    unreadable = _places(tables.log, tables).unionAll(_places(tables.consume, tables))
    if unreadable.isEmpty():
        return tables
    positions = Positions.of(tables.run)
    places = unreadable.select(positions.column().alias("position")).distinct()
    acked = tables.produce.filter(
        (sf.col("outcome") == SendOutcome.ACKED.value) & sf.col("offset").isNotNull()
    )
    delivered = tables.consume.filter(
        ours(tables.run) & (sf.col("outcome") == DeliveryOutcome.OK.value)
    )
    in_log = tables.log.filter(ours(tables.run))
    claims = (
        _claims(in_log, positions, 0, sf.lit(0))
        .unionAll(_claims(acked, positions, 1, -sf.col("done_at")))
        .unionAll(_claims(delivered, positions, 2, sf.lit(0)))
        .join(places, "position", "left_semi")
        .groupBy("position")
        .agg(sf.min(sf.struct("rank", "order", *IDENTITY)).alias("record"))
        .select("position", *[sf.col(f"record.{name}").alias(f"_{name}") for name in IDENTITY])
    )
    known = [tuple(row) for row in claims.limit(FEW + 1).collect()]
    if not known:
        return tables
    if len(known) <= FEW:
        # As rows: every query on the log or the deliveries would else look for them again.
        claims = sf.broadcast(local_rows.frame(tables.spark, sorted(known), claims.schema))
    return replace(
        tables,
        log=_named(tables.log, claims, positions, tables),
        consume=_named(tables.consume, claims, positions, tables),
    )


def _places(rows: DataFrame, tables: Tables) -> DataFrame:
    """Return the places of unreadable payloads; the files' statistics say of most: none."""
    return rows.filter(_unreadable(tables)).select("topic", "partition", "offset")


def _unreadable(tables: Tables) -> Column:
    # What carries the intact identity of another run was written by that run.
    return ~sf.col("checksum_ok") & ~ours(tables.run)


def _claims(rows: DataFrame, positions: Positions, rank: int, order: Column) -> DataFrame:
    """Return whose the places of some rows are; the lowest rank, then the lowest order decides."""
    return rows.select(
        positions.column().alias("position"),
        sf.lit(rank).alias("rank"),
        order.cast("long").alias("order"),
        *IDENTITY,
    )


def _named(rows: DataFrame, claims: DataFrame, positions: Positions, tables: Tables) -> DataFrame:
    named = rows.withColumn("position", positions.column()).join(claims, "position", "left")
    known = _unreadable(tables) & sf.col("_seq").isNotNull()
    identity = {name: sf.col(f"_{name}") for name in IDENTITY}
    columns = identity | {"run_uid": sf.lit(tables.run.uid)}
    return named.withColumns(
        {name: sf.when(known, column).otherwise(sf.col(name)) for name, column in columns.items()}
    ).select(*rows.columns)
