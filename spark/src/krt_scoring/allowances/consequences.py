"""What follows from a permitted truncation, and is permitted with it.

A group's position or commit may have lain above the first offset that was cut by an election that
permits the loss of committed records. It goes on reading above it, or from its reset: between the
cut and that position it may receive offsets again, skip the records that replaced the lost ones, or
have a commit above them. A position lies above a transaction's marker that was cut although no
record was, so nothing that was acked need be gone. Where no position of the group lay above the
cut, nothing follows for it.

A member's recorded reset ends it: what the member does afterwards is judged like anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from krt_scoring.allowances import group_positions
from krt_scoring.engine import local_rows
from krt_scoring.history.positions import offset_of, tp_of
from krt_scoring.inputs.timeline import CLOCK_SLACK, FOREVER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.allowances.group_positions import Reached, Reset
    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.history.history import History

PREFIX = "after-"
"""A consequence's rule is ``after-`` and the rule of the loss it follows from."""

_RESET = StructType(
    [StructField("incarnation", StringType()), StructField("event_seq", LongType())]
)
_SPAN = StructType(
    [
        StructField("first", LongType()),
        StructField("last", LongType()),
        StructField("rule", StringType()),
        StructField("at", LongType()),
        StructField("passed", LongType()),
        StructField("resets", ArrayType(_RESET)),
    ]
)
SCHEMA = StructType(
    [
        StructField("group_index", IntegerType()),
        StructField("tp", LongType()),
        StructField("spans", ArrayType(_SPAN)),
    ]
)


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets at which a group may show consequences of a truncation.

    Attributes:
        first: the first offset that can have been cut.
        last: the last one below the group's position or commit.
        rule: what permits the consequences.
        at: when the election was, UTC µs.
        resets: of each member, its first reset since then.
        recommitted: when the group first committed a position of after a reset, UTC µs; FOREVER
            where it did not.
    """

    first: int
    last: int
    rule: str
    at: int
    resets: tuple[Reset, ...] = ()
    recommitted: int = FOREVER

    @property
    def passed(self) -> int:
        """The last offset that the group went by: it was given what lies above its resets."""
        return min([self.last, *(reset.target - 1 for reset in self.resets)])

    def permits_rewind(self, committed: int, start: int, begin: int) -> bool:
        """Whether an ownership may begin below the group's last commit.

        Args:
            committed: the offset of that commit.
            start: the offset at which the ownership began.
            begin: when it began, UTC µs.
        """
        above = self.first < committed <= self.last + 1
        # The commit lay above the cut, and the reset led to it or above it.
        return above and self.at <= begin <= self.recommitted and start >= self.first


Spans = dict[tuple[int, int], list[Span]]
"""(group, topic-partition) → its spans."""


def derive(history: History, truncations: Sequence[Truncation]) -> Spans:
    """Return per (group, topic-partition) the spans of permitted consequences."""
    facts = history.facts
    permitting = [item for item in truncations if item.rule is not None]
    if not permitting or not facts.groups:
        return {}
    cuts = [(item.tp, item.election.at) for item in permitting]
    reached = group_positions.collect(history, cuts, CLOCK_SLACK)
    gone = ends_of_gone(history.records.deliveries)
    return spans_of(permitting, [group.index for group in facts.groups], reached, gone)


def spans_of(
    permitting: Sequence[Truncation],
    groups: Sequence[int],
    reached: Mapping[tuple[int, int, int], Reached],
    gone: Mapping[tuple[int, int], int],
) -> Spans:
    """Return the spans of the groups that had come to a cut, or were delivered what lay above it.

    Args:
        permitting: the cuts that permit the loss of committed records.
        groups: the index of each group.
        reached: (group, topic-partition, when its log was cut) → how far the group had come.
        gone: (group, topic-partition) → one above the highest offset at which it was delivered what
            is gone.
    """
    spans: Spans = {}
    for item in permitting:
        for group in groups:
            found = reached.get((group, item.tp, item.election.at), group_positions.NOWHERE)
            end = max(found.position, gone.get((group, item.tp), 0))
            if end <= item.offset:
                continue
            span = Span(
                first=item.offset,
                last=end - 1,
                rule=f"{PREFIX}{item.rule}",
                at=item.election.at,
                resets=found.resets,
                recommitted=found.recommitted,
            )
            spans.setdefault((group, item.tp), []).append(span)
    return spans


def ends_of_gone(deliveries: DataFrame | None) -> dict[tuple[int, int], int]:
    """Return (group, topic-partition) → end of the offsets at which it was delivered what is gone.

    A record that its producer sent again, and that lies elsewhere now, is gone from where it was
    delivered. What lies below the start of a log need not be.

    Args:
        deliveries: as ``Records`` has them.
    """
    if deliveries is None:
        return {}
    position = sf.col("position")
    gone = deliveries.filter(sf.col("absent") & sf.col("group_index").isNotNull())
    end = sf.max(offset_of(position)) + 1
    ends = gone.groupBy("group_index", tp_of(position).alias("tp")).agg(end.alias("end"))
    return {(row["group_index"], row["tp"]): row["end"] for row in ends.collect()}


def with_spans(rows: DataFrame, spans: Spans) -> DataFrame:
    """Return rows that have ``group_index, tp`` with the column ``spans`` (null: none there)."""
    if not spans:
        return rows.withColumn("spans", sf.lit(None).cast(ArrayType(_SPAN)))
    listed = [(index, tp, [_row(span) for span in spans[index, tp]]) for index, tp in sorted(spans)]
    table = local_rows.frame(rows.sparkSession, listed, SCHEMA)
    return rows.join(sf.broadcast(table), ["group_index", "tp"], "left")


def _row(span: Span) -> tuple[object, ...]:
    resets = [(reset.incarnation, reset.event_seq) for reset in span.resets]
    return span.first, span.last, span.rule, span.at, span.passed, resets


@dataclass(frozen=True, slots=True)
class Earlier:
    """The delivery before one that may show a consequence: its member, and when by its own order.

    If it followed that member's reset, both did.
    """

    incarnation: Column
    event_seq: Column


def rule(low: Column, high: Column, at: Column, earlier: Earlier) -> Column:
    """Return the rule that permits a delivery out of order between two offsets, or null.

    Args:
        low: the lowest offset that is delivered again or passed over.
        high: the highest one.
        at: when, in UTC µs: a delivery before the election is no consequence of it.
        earlier: the delivery before it.
    """

    def reset_before(span: Column) -> Column:
        return sf.exists(
            span["resets"],
            lambda reset: (
                (reset["incarnation"] == earlier.incarnation)
                & (reset["event_seq"] < earlier.event_seq)
            ),
        )

    hit = sf.filter(
        "spans",
        lambda span: (
            (span["first"] <= low)
            & (high <= span["last"])
            & (span["at"] <= at + CLOCK_SLACK)
            & ~reset_before(span)
        ),
    )
    return sf.get(hit, sf.lit(0))["rule"]


def passing_rule(offset: Column) -> Column:
    """Return the rule that permits a record at ``offset`` never to be delivered, or null."""
    hit = sf.filter("spans", lambda span: (span["first"] <= offset) & (offset <= span["passed"]))
    return sf.get(hit, sf.lit(0))["rule"]
