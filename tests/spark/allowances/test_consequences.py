"""Which consequences of a cut are permitted, to the offset, the microsecond and the delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances import consequences
from krt_scoring.allowances.consequences import Earlier, Span
from krt_scoring.allowances.group_positions import Reset
from krt_scoring.engine import local_rows
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.inputs.timeline import CLOCK_SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession

GROUP, TP = 1, 3
CUT, LAST, ELECTED, RESET_SEQ = 5, 9, 10 * CLOCK_SLACK, 20
RULE, LATER_RULE = "after-unclean-election", "after-storage-lost"
EARLIEST = ELECTED - CLOCK_SLACK
"""When a member whose clock is behind saw the first consequence."""

RESET = Reset(
    group=GROUP, tp=TP, incarnation="c1", event_seq=RESET_SEQ, at=ELECTED, target=LAST - 1
)
SPAN = Span(CUT, LAST, RULE, ELECTED, (RESET,))
LATER = Span(LAST + 1, LAST + 3, LATER_RULE, 2 * ELECTED)

Delivery = tuple[int, int, int, str, int]
"""Lowest and highest offset, when, and member and number of the delivery before."""


def found(
    spark: SparkSession, rows: Sequence[Delivery], column: Column, *spans: Span
) -> list[str | None]:
    """Return a column of deliveries of the group on the partition."""
    schema = "group_index int, tp long, low long, high long, at long, member string, seq long"
    frame = local_rows.frame(spark, [(GROUP, TP, *row) for row in rows], schema)
    shown = consequences.with_spans(frame, {(GROUP, TP): list(spans)} if spans else {})
    return [row["found"] for row in shown.select(column.alias("found")).collect()]


def test_rule_permits_what_lies_within_a_span_and_follows_no_reset(spark: SparkSession) -> None:
    rule = consequences.rule(
        sf.col("low"), sf.col("high"), sf.col("at"), Earlier(sf.col("member"), sf.col("seq"))
    )
    expected: dict[Delivery, str | None] = {
        (CUT, LAST, EARLIEST, "c1", 1): RULE,
        (CUT - 1, LAST, EARLIEST, "c1", 1): None,
        (CUT, LAST + 1, EARLIEST, "c1", 1): None,
        # Before the election.
        (CUT, LAST, EARLIEST - 1, "c1", 1): None,
        # The delivery before it followed that member's reset.
        (CUT, LAST, ELECTED, "c1", RESET_SEQ - 1): RULE,
        (CUT, LAST, ELECTED, "c1", RESET_SEQ): RULE,
        (CUT, LAST, ELECTED, "c1", RESET_SEQ + 1): None,
        (CUT, LAST, ELECTED, "c2", RESET_SEQ + 1): RULE,
        # Of a later cut.
        (LAST + 1, LAST + 3, 2 * ELECTED, "c1", RESET_SEQ + 1): LATER_RULE,
        (LAST + 1, LAST + 3, ELECTED, "c1", RESET_SEQ + 1): None,
    }
    assert found(spark, list(expected), rule, SPAN, LATER) == list(expected.values())
    assert found(spark, list(expected), rule) == [None] * len(expected)


def test_passing_rule_permits_what_the_group_went_by(spark: SparkSession) -> None:
    rule = consequences.passing_rule(sf.col("low"))
    # The reset leads to the last offset but one, so the group was given that and the last.
    expected = {CUT - 1: None, CUT: RULE, LAST - 2: RULE, LAST - 1: None, LAST + 3: LATER_RULE}
    rows = [(offset, offset, 0, "c1", 0) for offset in expected]
    assert found(spark, rows, rule, SPAN, LATER) == list(expected.values())
    assert found(spark, rows, rule) == [None] * len(rows)


def test_ends_of_gone_are_of_what_was_each_group_was_delivered_and_is_absent(
    spark: SparkSession,
) -> None:
    rows = [
        (GROUP, TP, 5, True),
        (GROUP, TP, 7, True),
        (GROUP, TP, 8, False),
        (GROUP, TP + 1, 3, True),
        (0, TP, 2, True),
        # Of a group that the plan does not know.
        (None, TP, 9, True),
    ]
    deliveries = local_rows.frame(
        spark,
        [(group, tp << OFFSET_BITS | offset, absent) for group, tp, offset, absent in rows],
        "group_index int, position long, absent boolean",
    )
    expected = {(GROUP, TP): 8, (GROUP, TP + 1): 4, (0, TP): 3}
    assert consequences.ends_of_gone(deliveries) == expected
    assert consequences.ends_of_gone(None) == {}


def test_with_spans_gives_each_group_and_partition_its_own(spark: SparkSession) -> None:
    places = [(GROUP, TP), (GROUP, TP + 1), (0, TP)]
    rows = local_rows.frame(spark, places, "group_index int, tp long")
    shown = consequences.with_spans(rows, {(GROUP, TP): [SPAN], (0, TP): [LATER]})
    spans = {(row["group_index"], row["tp"]): row["spans"] for row in shown.collect()}
    assert spans.keys() == set(places)
    assert spans[GROUP, TP + 1] is None
    ((first, last, rule, at, passed, resets),) = spans[GROUP, TP]
    assert (first, last, rule, at, passed) == (CUT, LAST, RULE, ELECTED, LAST - 2)
    assert [tuple(reset) for reset in resets] == [("c1", RESET_SEQ)]
    assert [span["rule"] for span in spans[0, TP]] == [LATER_RULE]
