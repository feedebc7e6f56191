"""Which losses a configuration permits.

acks=all: only after an unclean election that is switched on, or the loss of storage. acks=1
(and acks=0 once appended): when leadership left the acking epoch and the offset was cut.
acks=0: also whatever was not provably appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.allowances import truncations
from krt_scoring.history.positions import offset_of
from krt_scoring.history.record_columns import ACKED

if TYPE_CHECKING:
    from pyspark.sql import Column

LEADER_CHANGE = {"1": "acks-1-leader-change", "0": "acks-0-leader-change"}
"""acks → rule by which a loss after a change of leadership is permitted."""

NOT_APPENDED = "acks-0-not-provably-appended"


def committed_rule(offset: Column, before: Column) -> Column:
    """Return the rule that permits the loss of a record below the high watermark, or null."""
    permitting = sf.filter(truncations.reached(offset, before), lambda cut: cut["rule"].isNotNull())
    return sf.get(permitting, sf.lit(0))["rule"]


def appended_by(position: Column) -> Column:
    """Return by when, in UTC µs, a record had certainly been appended at a position.

    An ack shows that for its own position. For any other, and for a send that failed in the end,
    the first delivery may show it earlier; null where neither is known.

    Of rows with ``outcome, ack_position, done_at, first_delivered_at``.
    """
    as_acked = (sf.col("outcome") == ACKED) & (sf.coalesce("ack_position", position) == position)
    either = sf.least("done_at", "first_delivered_at")
    return sf.when(as_acked, sf.col("done_at")).otherwise(either)


def position_rule(position: Column, *, delivered: bool) -> Column:
    """Return the rule by which a record may not lie at the position reported for it, or null.

    Of rows with ``acks, outcome, ack_position, done_at, first_delivered_at, cuts``.

    Args:
        position: what was reported; null where that is not known.
        delivered: whether a delivery reported it: then it lay below the high watermark.
    """
    offset, before = offset_of(position), appended_by(position)
    by_all = committed_rule(offset, before)
    if delivered:
        return by_all
    cut = sf.size(truncations.reached(offset, before)) > 0
    after: Column = sf.lit(None).cast("string")
    for acks, rule in LEADER_CHANGE.items():
        after = sf.when((sf.col("acks") == acks) & cut, sf.lit(rule)).otherwise(after)
    return sf.coalesce(by_all, after)


def write_rule() -> Column:
    """Return the rule that permits the loss of an acked record, or null.

    Of rows with ``acks, outcome, ack_position, got_first, done_at, first_delivered_at, cuts``.
    """
    known = sf.coalesce("ack_position", "got_first")
    unproven = (sf.col("acks") == "0") & sf.col("got_first").isNull()
    return sf.coalesce(
        position_rule(known, delivered=False), sf.when(unproven, sf.lit(NOT_APPENDED))
    )
