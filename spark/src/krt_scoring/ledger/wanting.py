"""What of the evidence the rules themselves find wanting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.derive.facts import ours
from krt_scoring.reasons import DELIVERY_ANOMALIES, LOG_ANOMALIES, Reason

if TYPE_CHECKING:
    from krt_scoring.derive.base import Base


def foreign(base: Base) -> int:
    """Return the log records that are not of this run.

    A record without an identity of the run at a place where one of ours was acked or delivered
    is ours and damaged beyond reading.
    """
    if not base.facts.strays:
        return 0
    told = base.records.select(
        sf.explode(sf.array("ack_place", "got_first", "got_last")).alias("p")
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
    """A group never assigned a partition with traffic."""
    found = []
    for group in base.facts.groups:
        missing = []
        for tp, bounds in sorted(base.facts.bounds.items()):
            topic, partition = base.facts.places.name(tp)
            start = base.facts.starts.get((group.index, tp))
            empty = bounds.high_watermark <= bounds.log_start
            if topic in group.topics and not empty and (start is None or start.offset is None):
                missing.append(f"{topic}-{partition}")
        if missing:
            text = (
                f"group {group.name} was never assigned {', '.join(missing)}: what it is owed "
                "there is not known; look at its consumers' logs"
            )
            found.append(
                Reason("evidence", "GroupNeverStarted", group.name, text, DELIVERY_ANOMALIES)
            )
    return found


def _not_drained(base: Base) -> list[Reason]:
    """A group that did not read to the end, where something it is owed is missing."""
    if not base.totals["skipped"]:
        return []
    found = []
    for (index, tp), start in sorted(base.facts.starts.items()):
        bounds = base.facts.bounds.get(tp)
        if start.drained or bounds is None or bounds.high_watermark <= bounds.log_start:
            continue
        topic, partition = base.facts.places.name(tp)
        name = base.facts.groups[index].name
        text = (
            f"group {name} did not read {topic}-{partition} to its end in time: what it has not "
            "got there may only be late; raise spec.timeouts.drain"
        )
        found.append(
            Reason("evidence", "GroupNotDrained", f"{name}/{topic}-{partition}", text, ("unseen",))
        )
    return found
