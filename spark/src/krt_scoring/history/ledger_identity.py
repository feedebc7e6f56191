"""The ledger identity: every attempted send is exactly one thing.

``attempted = acked + failed + unknown``; every acked record is lost, expired, undelivered,
deliveredLate or delivered; every unknown one unknownInLog or unknownNotInLog; every failed one
failedNotInLog or failedInLog. ``attempted`` comes from the producer summaries, which are counted
apart from the rows; of an incarnation that was killed from the highest seq in the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_scoring.history.outcomes import LOST, RECORD_OUTCOMES
from krt_scoring.history.positions import tp_of
from krt_scoring.history.record_columns import (
    ABORTED,
    ACKED,
    BAD_DELIVERED,
    BAD_IN_LOG,
    FAILED,
    LOG_ABORTED,
    PRESENT,
    UNKNOWN,
    delivery_count,
    has,
    owed,
    received_count,
)
from krt_scoring.inputs.evidence import PRODUCE
from krt_scoring.inputs.reasons import SEND_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.identity import Incarnation, ProducerSummary
    from krt_scoring.history.tally import Tally


ACKED_OUTCOMES = ("lost", "expired", "undelivered", "deliveredLate", "delivered")
"""What an acknowledged record is, each exactly one."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What one pass over the records counts.

    Attributes:
        counts: term → records; besides the record outcomes: lostAfterDelivery, unledgered, corrupt,
            offsetUnusable, doubled (identities with two log rows at one offset), missing (what
            lost-write may concern), copied (identities at two offsets), vanished (delivered ok and
            in no log), displaced (delivered ok from elsewhere than the log has it), misplaced
            (acked or delivered at a position where the record does not lie), skipped (never
            delivered, from its own place, to a group that it is owed to), aborted, strange (of no
            ledger, or in another partition than sent to), oddly (delivered again, or elsewhere
            than it lies), suspects.
    """

    counts: dict[str, int]

    def __getitem__(self, term: str) -> int:
        """Return the count of a term."""
        return self.counts[term]


def count(tallies: Iterable[Tally], suspects: DataFrame, facts: Facts) -> Totals:
    """Count the terms of the identity.

    Args:
        tallies: of all records.
        suspects: those that are not clean, which alone fall under the other terms.
        facts: the run's groups.
    """
    counts = dict.fromkeys(RECORD_OUTCOMES, 0) | {"suspects": 0}
    for tally in tallies:
        # A seq without a ledger row was sent by a producer that died before it wrote it.
        if tally.outcome is not None or tally.record_outcome not in (
            "unknownInLog",
            "unknownNotInLog",
        ):
            counts[tally.record_outcome] += tally.records
        counts["suspects"] += tally.anomalous
    terms = _terms(facts)
    if not counts["suspects"]:
        return Totals(counts | dict.fromkeys(terms, 0))
    row = suspects.agg(
        *[
            sf.coalesce(sf.sum(sf.when(term, 1).otherwise(0).cast("long")), sf.lit(0)).alias(name)
            for name, term in terms.items()
        ]
    ).first()
    return Totals(counts | dict(row.asDict() if row is not None else {}))


def may_be_listed_twice() -> Column:
    """Whether a record may be listed twice at one offset: it has more rows than known places."""
    places = sf.when(sf.col("log_first") == sf.col("log_last"), 1).otherwise(2)
    return sf.col("log_rows") > places


def _terms(facts: Facts) -> dict[str, Column]:
    """Return the conditions of the terms that only anomalous records count under."""
    got = sf.col("got_first").isNotNull()
    acked = sf.col("outcome") == ACKED
    again: Column = sf.lit(col=False)
    skipped: Column = sf.lit(col=False)
    for group in facts.groups:
        skipped = skipped | (sf.col(owed(group)) & (sf.col(received_count(group)) == 0))
        again = again | (sf.col(delivery_count(group)) > 1)
    unknown = sf.coalesce(sf.col("outcome"), sf.lit(UNKNOWN)) == UNKNOWN
    doubtful = unknown & (got | sf.col("transaction").isNotNull())
    unsent = sf.col("rows") == 0
    absent = sf.col("absent_from").isNotNull()
    in_log = sf.col("present") | (sf.col("log_rows") > 0)
    return {
        "lostAfterDelivery": (sf.col("record_outcome") == LOST) & got,
        "unledgered": unsent & ~facts.never_sent() & has(PRESENT),
        "corrupt": has(BAD_IN_LOG | BAD_DELIVERED),
        "offsetUnusable": sf.col("offset_unusable"),
        "doubled": may_be_listed_twice(),
        "vanished": absent & ~in_log,
        "displaced": absent & in_log,
        "misplaced": _elsewhere("got_first")
        | _elsewhere("got_last")
        | _elsewhere("ack_position")
        | (~sf.col("present") & (got | acked)),
        "missing": ~sf.col("present") & ~sf.col("below_start") & (acked | doubtful),
        "copied": (sf.col("log_first") != sf.col("log_last"))
        | ((sf.col("log_rows") == 0) & (sf.col("got_first") != sf.col("got_last"))),
        "skipped": skipped,
        "aborted": sf.coalesce(sf.col("transaction_outcome") == ABORTED, sf.lit(col=False))
        | ((sf.col("outcome") == FAILED) & got)
        | (has(LOG_ABORTED) & (unsent | got)),
        "strange": (unsent & (got | (sf.col("log_rows") > 0)))
        | (sf.col("ledger_tp") != tp_of(sf.coalesce("log_first", "got_first")))
        | (sf.col("ledger_tp") != tp_of(sf.coalesce("log_last", "got_last"))),
        "oddly": ~_once_each()
        & (
            again
            | (sf.col("got_first") != sf.col("got_last"))
            | (sf.coalesce("log_first", sf.lit(-1)) != sf.col("got_first"))
        ),
    }


def _elsewhere(report: str) -> Column:
    """Whether a record was reported at a place that is not the first nor the last of its own."""
    place = sf.col(report)
    return (place != sf.col("position")) & sf.coalesce(
        place != sf.col("log_last"), sf.lit(col=True)
    )


def _once_each() -> Column:
    """Whether all that was delivered of a record is one delivery from each of two places.

    Of two copies in the log both are handed out: no offset was delivered twice.
    """
    places = (("got_first", "log_first"), ("got_last", "log_last"))
    copies = sf.col("got_first") != sf.col("got_last")
    for delivered, held in places:
        copies = copies & (sf.col(delivered) == sf.col(held))
    return sf.coalesce(copies & (sf.col("got_rows") == len(places)), sf.lit(col=False))


def ledger(totals: Totals, facts: Facts) -> tuple[dict[str, int], tuple[Reason, ...]]:
    """Return the terms of the identity as the scorecard names them, and what does not balance."""
    incarnations = facts.incarnations.values()
    problems = {item.incarnation: found for item in incarnations if (found := _problems(item))}
    acked = sum(item.acked for item in incarnations)
    failed = sum(item.failed for item in incarnations)
    blind = sum(item.unrecorded for item in incarnations)
    unknown = sum(item.unknown for item in incarnations) + blind
    attempted = sum(item.attempted for item in incarnations)
    known = totals["unknownInLog"] + totals["unledgered"]
    terms = {
        "attempted": attempted,
        "acked": acked,
        "failed": failed,
        "unknown": unknown,
        **{name: totals[name] for name in RECORD_OUTCOMES},
        "unknownInLog": known,
        "unknownNotInLog": unknown - known,
        "lostAfterDelivery": totals["lostAfterDelivery"],
        "unledgered": totals["unledgered"],
        "corrupt": totals["corrupt"],
        "offsetUnusable": totals["offsetUnusable"],
        "unrecordedSends": blind,
        "logRecords": facts.log_records,
        "deliveries": facts.deliveries,
        "foreign": 0,
    }
    # Where an incarnation's own counts differ, so do the sums.
    sums = [_unbalanced(text, tuple(sorted(problems))) for text in _sums(terms)]
    reasons = [
        *sums,
        *(_unbalanced(text, (name,)) for name, found in problems.items() for text in found),
    ]
    terms["balanced"] = 0 if reasons else 1
    return terms, tuple(sorted(reasons))


def ledgers(facts: Facts) -> tuple[dict[str, Any], ...]:
    """Return the terms of each producer of the plan, of the consumers' outputs too, by name.

    ``acked`` is broken down as in the ledger of the whole run; ``unknown`` includes the sends of a
    killed producer that have no row.
    """
    found = []
    for entry in facts.run.writers:
        names = set(entry.identities)
        own = [item for item in facts.incarnations.values() if item.producer in names]
        found.append(
            {
                "producer": entry.name,
                "topic": entry.topic,
                "acks": str(entry.acks),
                "attempted": sum(item.attempted for item in own),
                "acked": sum(item.acked for item in own),
                "failed": sum(item.failed for item in own),
                "unknown": sum(item.unknown + item.unrecorded for item in own),
                **{
                    name: sum(item.outcomes.get(name, 0) for item in own) for name in ACKED_OUTCOMES
                },
            }
        )
    return tuple(found)


def _unbalanced(text: str, incarnations: tuple[str, ...]) -> Reason:
    """Return the reason; without incarnations it is about every producer's ledger."""
    scope = Scope(tables=(PRODUCE,), incarnations=incarnations)
    return Reason("evidence", "LedgerDoesNotBalance", PRODUCE, text, SEND_ANOMALIES, scope)


def _problems(item: Incarnation) -> list[str]:
    name = f"{item.producer}/{item.incarnation}"
    if item.repeated:
        return [f"{name}: {item.repeated} sends have more than one ledger row"]
    outcomes = item.acked + item.failed + item.unknown
    if outcomes != item.rows:
        return [f"{name}: {item.rows - outcomes} ledger rows have none of the known outcomes"]
    return [] if item.summary is None else _against_summary(name, item, item.summary)


def _against_summary(name: str, item: Incarnation, summary: ProducerSummary) -> list[str]:
    if item.summaries > 1:
        return [f"{name}: {item.summaries} producer summaries where one was written"]
    counted = (summary.attempted, summary.acked, summary.failed, summary.unknown)
    rows = (item.rows, item.acked, item.failed, item.unknown)
    if counted != rows:
        terms = "(attempted, acked, failed, unknown)"
        return [f"{name}: closed with {terms} = {counted}, its ledger has {rows}"]
    if item.sent >= summary.attempted:
        return [f"{name}: seq {item.sent} was sent, but only {summary.attempted} were attempted"]
    return []


def _sums(terms: dict[str, int]) -> list[str]:
    rules = {
        "attempted": ("acked", "failed", "unknown"),
        "acked": ACKED_OUTCOMES,
        "unknown": ("unknownInLog", "unknownNotInLog"),
        "failed": ("failedNotInLog", "failedInLog"),
    }
    problems = []
    for total, parts in rules.items():
        found = sum(terms[part] for part in parts)
        if found != terms[total] or any(terms[part] < 0 for part in parts):
            listed = " + ".join(f"{part} {terms[part]}" for part in parts)
            problems.append(f"{total} {terms[total]} is not {listed}")
    return problems
