"""Which cuts may have taken a record, by its offset and by when it was in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from tests.unit.scoring.builders import election

from krt_scoring.allowances.truncations import (
    Truncation,
    first_offsets_cut,
    reached,
    with_cuts,
)
from krt_scoring.engine import local_rows
from krt_scoring.history.positions import OFFSET_BITS
from krt_scoring.history.record_columns import ACKED, FAILED
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TP = 3
UNCLEAN = "unclean-election"


def truncation(tp: int, offset: int, latest: int, rule: str | None = UNCLEAN) -> Truncation:
    """Return a cut; its election is at 90."""
    return Truncation(election(at=90), tp, offset, rule, latest)


CUTS = (truncation(TP, 5, 100), truncation(TP, 7, 200, None), truncation(TP + 1, 9, 300))


def test_with_cuts_gives_each_partition_its_own(spark: SparkSession) -> None:
    rows = local_rows.frame(spark, [(TP,), (TP + 1,), (TP + 2,)], "tp long")
    found = {row["tp"]: row["cuts"] for row in with_cuts(rows, CUTS).collect()}
    assert {tp: cuts and [tuple(cut) for cut in cuts] for tp, cuts in found.items()} == {
        TP: [(90, 5, UNCLEAN, 100), (90, 7, None, 200)],
        TP + 1: [(90, 9, UNCLEAN, 300)],
        TP + 2: None,
    }
    assert [row["cuts"] for row in with_cuts(rows, ()).collect()] == [None] * 3


def test_reached_cuts_lie_at_the_offset_or_below_and_end_no_earlier(spark: SparkSession) -> None:
    expected = {
        (4, 100): [],
        (5, 100): [5],
        (5, 101): [],
        (7, 100): [5, 7],
        (7, 200): [7],
        (7, 201): [],
        # What is not known may be anything.
        (None, 200): [7],
        (6, None): [5],
        (None, None): [5, 7],
    }
    rows = local_rows.frame(
        spark, [(TP, *row) for row in expected], "tp long, offset long, before long"
    )
    cuts = reached(sf.col("offset"), sf.col("before"))
    shown = with_cuts(rows, CUTS).select("offset", "before", cuts.alias("reached")).collect()
    found = {(row[0], row[1]): [cut["offset"] for cut in row["reached"]] for row in shown}
    assert found == expected


@dataclass(frozen=True)
class Record:
    """A record, sent and acked before the election unless it says otherwise."""

    offset: int
    acks: str = "1"
    outcome: int = ACKED
    as_acked: bool = True
    sent: int = 40
    done: int = 50
    elsewhere: bool = False
    """Whether it is of another partition."""


ELECTED, SINCE, STRICT, UNTIL = 90, 40, 50, 60
WITHIN_ISR = (ELECTED, 0, 0, FOREVER)
OUTSIDE = (ELECTED, SINCE, STRICT, UNTIL)
LATER = (100, 0, 0, FOREVER)
"""Elections, as ``MOMENTS`` without the partition."""

EARLY = SINCE - 1
"""Sent when a leader before the deposed one could take it."""

Moment = tuple[int, ...]
CUT_OFFSETS: list[tuple[tuple[Moment, ...], list[Record], list[int]]] = [
    ((WITHIN_ISR,), [], []),
    ((WITHIN_ISR,), [Record(5)], [6]),
    ((WITHIN_ISR,), [Record(5), Record(2)], [6]),
    ((WITHIN_ISR,), [Record(0, sent=0, done=0)], [1]),
    # It was not acked, does not lie where it was, or lies in another partition.
    ((WITHIN_ISR,), [Record(5, outcome=FAILED)], []),
    ((WITHIN_ISR,), [Record(5, as_acked=False)], []),
    ((WITHIN_ISR,), [Record(5, elsewhere=True)], []),
    ((WITHIN_ISR,), [Record(5, done=ELECTED - 1)], [6]),
    ((WITHIN_ISR,), [Record(5, done=ELECTED)], []),
    # From outside of the ISR: what only the deposed leader can have taken,
    ((OUTSIDE,), [Record(5, sent=SINCE)], [6]),
    ((OUTSIDE,), [Record(5, sent=EARLY)], []),
    ((OUTSIDE,), [Record(5, sent=SINCE, done=ELECTED)], []),
    ((OUTSIDE,), [Record(5, "all", sent=SINCE, done=UNTIL)], [6]),
    # or what all acked while the elected one was in the ISR.
    ((OUTSIDE,), [Record(5, "all", sent=EARLY, done=STRICT)], [6]),
    ((OUTSIDE,), [Record(5, "all", sent=EARLY, done=STRICT - 1)], []),
    ((OUTSIDE,), [Record(5, "all", sent=EARLY, done=UNTIL - 1)], [6]),
    ((OUTSIDE,), [Record(5, "all", sent=EARLY, done=UNTIL)], []),
    ((OUTSIDE,), [Record(5, "1", sent=EARLY, done=STRICT)], []),
    # Two elections, each with its own, also at one time.
    ((WITHIN_ISR, LATER), [Record(1), Record(7, done=ELECTED + 5)], [2, 8]),
    ((WITHIN_ISR, OUTSIDE), [Record(1, sent=SINCE), Record(7, sent=EARLY)], [2, 8]),
]
"""Elections of a partition, its records, and the first offsets cut; each in a partition of its
own."""

ELSEWHERE = 1000
SENT = """
  tp long, position long, acks string, outcome int, as_acked boolean, sent_at long, done_at long
"""


def test_first_offset_cut_is_above_what_was_in_the_deposed_leaders_log(
    spark: SparkSession,
) -> None:
    elected: list[tuple[int, ...]] = []
    rows = []
    for number, (of_partition, records, _) in enumerate(CUT_OFFSETS):
        elected += [(number, *moment) for moment in of_partition]
        for item in records:
            tp = number + ELSEWHERE * item.elsewhere
            position = tp << OFFSET_BITS | item.offset
            facts = (item.acks, item.outcome, item.as_acked, item.sent, item.done)
            rows.append((tp, position, *facts))
    found = first_offsets_cut(elected, local_rows.frame(spark, rows, SENT))
    of_tp = [
        sorted(offset for (tp, *_), offset in found.items() if tp == number)
        for number in range(len(CUT_OFFSETS))
    ]
    assert of_tp == [expected for *_, expected in CUT_OFFSETS]
    assert len(found) == sum(map(len, of_tp))
