"""What of the evidence the rules themselves find wanting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.facts import ours
from krt_scoring.history.records import delivered, owed
from krt_scoring.inputs.reasons import LOG_ANOMALIES, Reason

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_scoring.history.base import Base


def foreign(base: Base) -> int:
    """Return the log records that are not of this run.

    A record without an identity of the run at a place where one of ours was acked or delivered
    is ours and damaged beyond reading.
    """
    if not base.facts.strays:
        return 0
    told = base.records.select(sf.col("place").alias("p")).unionAll(
        base.odd.select(sf.explode(sf.array("ack_place", "got_first", "got_last")).alias("p"))
    )
    strays = base.history.log.filter(~ours(base.history.run)).select(
        base.facts.places.column().alias("p")
    )
    return strays.join(told, "p", "left_anti").count()


def reasons(base: Base, terms: dict[str, int]) -> tuple[Reason, ...]:
    """Return the reasons, in order of code and subject."""
    found = [*_never_started(base), *_not_drained(base)]
    if terms["foreign"]:
        text = (
            f"{terms['foreign']} records of the tested topics carry no identity of this run; "
            "somebody else wrote to them: test on topics of its own"
        )
        found.append(Reason("evidence", "ForeignRecords", "log", text, LOG_ANOMALIES))
    if base.totals["doubled"]:
        text = (
            f"{base.totals['doubled']} records are listed twice at one offset: "
            "a file of log/ is there twice"
        )
        found.append(Reason("evidence", "DuplicateLogRows", "log", text, LOG_ANOMALIES))
    return tuple(sorted(found))


def _never_started(base: Base) -> list[Reason]:
    """A group never assigned a partition with traffic.

    Coverage: what was found of other groups and partitions stands.
    """
    found = []
    used = _with_traffic(base)
    for group in base.facts.groups:
        missing = []
        for tp in used:
            topic, partition = base.facts.places.name(tp)
            start = base.facts.starts.get((group.index, tp))
            if topic in group.topics and (start is None or start.offset is None):
                missing.append(f"{topic}-{partition}")
        if missing:
            text = (
                f"group {group.name} was never assigned {', '.join(missing)}: what it is owed "
                "there is not known; look at its consumers' logs"
            )
            found.append(Reason("coverage", "GroupNeverStarted", group.name, text))
    return found


def _with_traffic(base: Base) -> list[int]:
    """Return the partitions that hold records, of an unread log those that were told to."""
    bounds = base.facts.bounds
    used = {tp for tp, found in bounds.items() if found.high_watermark > found.log_start}
    if base.facts.unread:
        told = base.records.filter(sf.col("place").isNotNull()).select("tp").distinct()
        used |= {row["tp"] for row in told.collect() if row["tp"] not in bounds}
    return sorted(used)


def _not_drained(base: Base) -> list[Reason]:
    """A group that did not read a partition to the end, where something it is owed is missing.

    Coverage: what was found on partitions that were read to the end stands.
    """
    if not base.totals["skipped"]:
        return []
    late: Column = sf.lit(col=False)
    for (index, tp), start in sorted(base.facts.starts.items()):
        if not start.drained:
            group = base.facts.groups[index]
            undelivered = sf.col(owed(group)) & (sf.col(delivered(group)) == 0)
            late = late | ((sf.col("tp") == tp) & undelivered)
    found = []
    for row in base.suspects.filter(late).groupBy("topic", "partition").count().collect():
        text = (
            f"{row['count']} records of {row['topic']}-{row['partition']} did not reach a group "
            "that did not read it to its end in time: they may only be late; give its consumers "
            "longer to read on (spec.timeouts.drain)"
        )
        subject = f"{row['topic']}-{row['partition']}"
        found.append(Reason("coverage", "GroupNotDrained", subject, text))
    return found
