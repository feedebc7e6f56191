"""What permits a loss, to the offset and the microsecond where the permission begins and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances.losses import (
    NOT_APPENDED,
    appended_by,
    committed_rule,
    position_rule,
    write_rule,
)
from krt_scoring.engine import local_rows
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.history.record_columns import ACKED, FAILED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

Cut = tuple[int, int, str | None, int]
"""When, the first offset, the rule, and the last instant at which the leader before may have
acked."""

CUT, LATEST = 5, 100
LATER = LATEST + 50
STORAGE, FIRST, SECOND = "storage-lost", "acks-1-leader-change", "acks-0-leader-change"
PERMITTING: tuple[Cut, ...] = ((90, CUT, STORAGE, LATEST),)
CHANGED: tuple[Cut, ...] = ((90, CUT, None, LATEST),)
"""A cut that permits acks=all nothing."""

TP = 3
COLUMNS = """
  acks string, outcome int, ack_position long, got_first long, done_at long,
  first_delivered_at long, position long,
  cuts array<struct<at:long,offset:long,rule:string,latest:long>>
"""


@dataclass(frozen=True)
class Send:
    """A send as the rules of losses see it.

    Attributes:
        acked, got: the offset it was acknowledged at, and first delivered from.
        at: the offset that was reported, where a rule is asked about one.
    """

    acks: str = "all"
    outcome: int | None = ACKED
    acked: int | None = CUT
    got: int | None = None
    done: int | None = 50
    delivered: int | None = None
    at: int | None = CUT
    cuts: tuple[Cut, ...] | None = PERMITTING


def rows(spark: SparkSession, sends: Sequence[Send]) -> DataFrame:
    """Return sends as rows."""

    def position(offset: int | None) -> int | None:
        return None if offset is None else TP << OFFSET_BITS | offset

    listed = [
        (
            send.acks,
            send.outcome,
            position(send.acked),
            position(send.got),
            send.done,
            send.delivered,
            position(send.at),
            send.cuts,
        )
        for send in sends
    ]
    return local_rows.frame(spark, listed, COLUMNS)


def check(
    spark: SparkSession, column: Column, expected: Sequence[tuple[Send, str | int | None]]
) -> None:
    """Compare a column with what is expected for each send."""
    sends = [send for send, _ in expected]
    found = [row["found"] for row in rows(spark, sends).select(column.alias("found")).collect()]
    assert list(zip(sends, found, strict=True)) == list(expected)


def test_write_rule_permits_what_a_cut_may_have_taken(spark: SparkSession) -> None:
    expected = [
        (Send(), STORAGE),
        (Send(acked=CUT - 1), None),
        (Send(acked=CUT + 1), STORAGE),
        # Acked by a later leader.
        (Send(done=LATEST), STORAGE),
        (Send(done=LATEST + 1), None),
        # A cut that permits nothing by itself, and none at all.
        (Send(cuts=CHANGED), None),
        (Send(cuts=None), None),
        (Send(cuts=(*CHANGED, *PERMITTING)), STORAGE),
    ]
    check(spark, write_rule(), expected)


def test_write_rule_permits_more_where_fewer_replicas_had_to_acknowledge(
    spark: SparkSession,
) -> None:
    expected = [
        (Send("1"), STORAGE),
        (Send("1", cuts=CHANGED), FIRST),
        (Send("1", cuts=CHANGED, acked=CUT - 1), None),
        (Send("1", cuts=CHANGED, done=LATEST + 1), None),
        (Send("1", cuts=None), None),
        (Send("1", cuts=None, acked=None), None),
        (Send("0", cuts=CHANGED), SECOND),
        (Send("0", cuts=CHANGED, acked=CUT - 1, got=CUT - 1), None),
        # Nothing shows that it was appended.
        (Send("0", cuts=None), NOT_APPENDED),
        (Send("0", cuts=None, got=CUT), None),
        (Send("0", cuts=CHANGED, done=LATEST + 1), NOT_APPENDED),
    ]
    check(spark, write_rule(), expected)


def test_write_rule_goes_by_the_place_of_the_ack_and_else_of_the_first_delivery(
    spark: SparkSession,
) -> None:
    expected = [
        (Send(acked=CUT, got=CUT - 1), STORAGE),
        (Send(acked=CUT - 1, got=CUT), None),
        (Send(acked=None, got=CUT), STORAGE),
        (Send(acked=None, got=CUT - 1), None),
        # It may have been anywhere.
        (Send(acked=None), STORAGE),
    ]
    check(spark, write_rule(), expected)


def test_appended_by_is_the_ack_of_that_place_and_else_the_earlier_of_end_and_delivery(
    spark: SparkSession,
) -> None:
    expected = [
        (Send(done=9, delivered=7), 9),
        # An acknowledgement that names no place was of this one.
        (Send(acked=None, done=9, delivered=7), 9),
        (Send(acked=CUT + 1, done=9, delivered=7), 7),
        (Send(outcome=FAILED, done=9, delivered=7), 7),
        (Send(outcome=UNKNOWN, acked=None, done=7, delivered=9), 7),
        (Send(outcome=FAILED, done=9), 9),
        # No ledger has it.
        (Send(outcome=None, acked=None, done=None, delivered=7), 7),
        (Send(outcome=None, acked=None, done=None), None),
    ]
    check(spark, appended_by(sf.col("position")), expected)


def test_position_rule_of_what_was_delivered_is_that_of_committed_records(
    spark: SparkSession,
) -> None:
    sends = (Send(), Send("1", cuts=CHANGED), Send("0", cuts=CHANGED), Send("0", cuts=None))
    for delivered, rules in (
        (False, (STORAGE, FIRST, SECOND, None)),
        (True, (STORAGE, *[None] * 3)),
    ):
        expected = list(zip(sends, rules, strict=True))
        check(spark, position_rule(sf.col("position"), delivered=delivered), expected)


def test_position_rule_is_of_the_position_that_was_reported(spark: SparkSession) -> None:
    expected = [
        (Send(at=CUT, acked=9), STORAGE),
        (Send(at=CUT - 1, acked=9), None),
        (Send(at=None, acked=1), STORAGE),
        # Acked elsewhere too late, but delivered from here in time.
        (Send(at=CUT, acked=9, done=LATER, delivered=LATEST), STORAGE),
        (Send(at=CUT, acked=CUT, done=LATER, delivered=LATEST), None),
        # When it was appended nobody knows.
        (Send(outcome=None, acked=None, done=None), STORAGE),
    ]
    check(spark, position_rule(sf.col("position"), delivered=True), expected)


def test_committed_rule_of_two_cuts_is_that_of_the_first_that_permits(spark: SparkSession) -> None:
    early, late = (90, 7, STORAGE, LATEST), (95, CUT, "unclean-election", LATER)
    expected = [
        (Send(at=7, done=LATEST, cuts=(early, late)), STORAGE),
        (Send(at=6, done=LATEST, cuts=(early, late)), "unclean-election"),
        (Send(at=7, done=LATEST + 1, cuts=(early, late)), "unclean-election"),
    ]
    offset = sf.col("position").bitwiseAND((1 << OFFSET_BITS) - 1)
    check(spark, committed_rule(offset, sf.col("done_at")), expected)
