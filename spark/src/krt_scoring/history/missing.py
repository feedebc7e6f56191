"""What the evidence lacks: reasons that only the records show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.identity import key, ours
from krt_scoring.history.ledger_identity import may_be_listed_twice
from krt_scoring.history.record_columns import owed, received_count
from krt_scoring.inputs.evidence import LOG
from krt_scoring.inputs.reasons import LOG_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column

    from krt_scoring.history.history import History

Place = tuple[str, int]
"""Topic and partition."""


def foreign(history: History) -> dict[Place, int]:
    """Count the log records that are not of this run, in each partition that has any."""
    if not history.facts.strays:
        return {}
    strays = history.tables.log.filter(~ours(history.tables.run))
    counted = strays.groupBy("topic", "partition").count().collect()
    return {(row["topic"], row["partition"]): row["count"] for row in counted}


def reasons(history: History, foreign_records: Mapping[Place, int]) -> tuple[Reason, ...]:
    """Return the reasons, in order of code and subject.

    Args:
        history: of a run.
        foreign_records: as ``foreign`` counts them.
    """
    found = [*_never_started(history), *_not_drained(history)]
    if foreign_records:
        text = (
            f"{sum(foreign_records.values())} records of the tested topics carry no identity of "
            "this run: another client wrote to them while it ran; let nobody else write to the "
            "topics of a test"
        )
        found.append(_of_log("ForeignRecords", text, foreign_records))
    if history.records.totals["doubled"]:
        twice = _listed_twice(history)
        if twice:
            text = (
                f"{sum(twice.values())} records are listed twice at one offset: "
                "a file of log/ is there twice"
            )
            found.append(_of_log("DuplicateLogRows", text, twice))
    return tuple(sorted(found))


def _listed_twice(history: History) -> dict[Place, int]:
    """Return how many records the log lists twice at one offset, by partition."""
    asked = history.records.suspects.filter(may_be_listed_twice()).select("pk", "seq")
    listed = (
        history.tables.log.filter(ours(history.tables.run))
        .withColumn("pk", key())
        .join(history.records.few(asked), ["pk", "seq"], "left_semi")
        .groupBy("topic", "partition", "offset", "pk", "seq")
        .count()
    )
    counted = listed.filter("count > 1").groupBy("topic", "partition").count().collect()
    return {(row["topic"], row["partition"]): row["count"] for row in counted}


def _of_log(code: str, text: str, partitions: Iterable[Place]) -> Reason:
    """Return a reason about the records that the log holds in some partitions."""
    scope = Scope(tables=(LOG,), partitions=tuple(sorted(partitions)))
    return Reason("evidence", code, LOG, text, LOG_ANOMALIES, scope)


def _never_started(history: History) -> list[Reason]:
    """A group never assigned a partition with traffic.

    Coverage: what was found of other groups and partitions stands.
    """
    found = []
    used = _with_traffic(history)
    for group in history.facts.groups:
        missing = []
        for tp in used:
            topic, partition = history.facts.positions.name(tp)
            start = history.facts.starts.get((group.index, tp))
            if topic in group.topics and (start is None or start.offset is None):
                missing.append(f"{topic}-{partition}")
        if missing:
            text = (
                f"group {group.name} was never assigned {', '.join(missing)}: what it is owed "
                "there is not known; look at its consumers' logs"
            )
            found.append(Reason("coverage", "GroupNeverStarted", group.name, text))
    return found


def _with_traffic(history: History) -> list[int]:
    """Return the partitions that have records, of an unread log those that were sent to."""
    bounds = history.facts.bounds
    used = {tp for tp, found in bounds.items() if found.high_watermark > found.log_start}
    if history.facts.unread:
        known = history.records.rows.filter(sf.col("position").isNotNull()).select("tp").distinct()
        used |= {row["tp"] for row in known.collect() if row["tp"] not in bounds}
    return sorted(used)


def _not_drained(history: History) -> list[Reason]:
    """A group that did not read a partition to the end, where something it is owed is missing.

    Coverage: what was found on partitions that were read to the end stands.
    """
    if not history.records.totals["skipped"]:
        return []
    late: Column = sf.lit(col=False)
    for (index, tp), start in sorted(history.facts.starts.items()):
        if not start.drained:
            group = history.facts.groups[index]
            undelivered = sf.col(owed(group)) & (sf.col(received_count(group)) == 0)
            late = late | ((sf.col("tp") == tp) & undelivered)
    found = []
    for row in (
        history.records.suspects.filter(late).groupBy("topic", "partition").count().collect()
    ):
        text = (
            f"{row['count']} records of {row['topic']}-{row['partition']} did not reach a group "
            "that did not read it to its end in time: they may only be late; give its consumers "
            "longer to read on (spec.timeouts.drain)"
        )
        subject = f"{row['topic']}-{row['partition']}"
        found.append(Reason("coverage", "GroupNotDrained", subject, text))
    return found
