"""The rules of what a record is: copied, aborted, corrupt, one of two at an offset.

docs/concepts/anomalies.md, the table and "Places".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place, loss_permitted
from tests.spark.oracle.history import (
    Finding,
    History,
    Record,
    identity_of,
    place_of,
)
from tests.spark.oracle.losses import lies_unread, place_rule
from tests.spark.oracle.presence import partition_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import Place


def was_aborted(record: Record) -> bool:
    """Whether the producer knows that the transaction of a record was aborted."""
    return record.send is not None and record.send["transaction_outcome"] == "aborted"


def places(history: History, record: Record) -> set[Place]:
    """Return where a record lies; of a log that was not read, where it was delivered from."""
    if record.log:
        return {place_of(row) for row in record.log}
    return {place_of(row) for row in record.ok if not history.read(row["partition"])}


def duplicate_rule(history: History, record: Record) -> str | None:
    """Return the rule that permits a record to be written twice."""
    producer = record.identity[0]
    if not history.idempotent(producer):
        return "retries-without-idempotence" if history.retries(producer) else None
    if record.send is not None and record.send["transaction"] is not None:
        return None
    if any(row["state"] != "plain" for row in record.log):
        return None
    if any(in_flight(record, at) for at in expiries(history, record)):
        return "message-timeout-expiry"
    refused = any(in_flight(record, at) for at in refusals(history, record))
    return "skipped-sequence" if refused and history.in_flight(producer) > 1 else None


def in_flight(record: Record, at: int) -> bool:
    """Whether a record may have been in flight; one of no ledger may have been at any time."""
    send = record.send
    return send is None or bool(send["sent_at"] <= at <= send["done_at"])


def expiries(history: History, record: Record) -> list[int]:
    """Return when another message of a record's incarnation was reported to have expired."""
    return [
        send["done_at"]
        for send in history.sends
        if send["producer_incarnation"] == record.identity[1]
        and send is not record.send
        and send["outcome"] == "unknown"
        and send["error"] == "_MSG_TIMED_OUT"
    ]


def refusals(history: History, record: Record) -> list[int]:
    """Return when a sequence number was refused in a partition that does not hold a record."""
    here = min(places(history, record))[0]
    others = {
        history.case.subject(number)
        for number in history.partitions
        if number != here and history.case.topic_of(number) == history.case.topic_of(here)
    }
    return [
        event.at
        for event in history.timeline
        if event.event == "sequence-refused" and event.subject in others
    ]


def duplicate_write(history: History) -> list[Finding]:
    """Find records at two or more offsets."""
    return [
        Finding(
            "duplicate-write",
            duplicate_rule(history, record),
            partition=min(places(history, record))[0],
            incarnation=record.identity[1],
        )
        for record in history.records
        if len(places(history, record)) > 1
    ]


def aborted_read(history: History) -> list[Finding]:
    """Find what failed or was aborted, and is in the log or was delivered all the same."""
    committed_only = {group.name for group in history.groups if group.committed_only}
    found: list[Finding] = []
    for record in history.records:
        of_transaction = record.send is not None and record.send["transaction"] is not None
        to_committed = [row for row in record.ok if row["group"] in committed_only]
        seen = False
        if was_aborted(record):
            seen = bool(record.present) or bool(to_committed)
        elif record.outcome == "failed" and not of_transaction:
            seen = bool(record.log) or bool(record.ok)
        if record.log and not record.present:
            seen = seen or bool(to_committed)
        if seen:
            where = partition_of(history, record)
            found.append(Finding("aborted-read", partition=where, incarnation=record.identity[1]))
    return found


def corrupt_payload(history: History) -> list[Finding]:
    """Find damaged bytes, seqs that nobody sent, and records in another partition."""
    found: list[Finding] = []
    for record in history.records:
        sent_to = record.send["partition"] if record.send is not None else None
        damaged = any(not row["checksum_ok"] for row in [*record.log, *record.ok])
        in_unread = lies_unread(history, record)
        shown = [row for row in record.ok if not (in_unread and history.judged(place_of(row)))]
        lies = record.log or shown
        moved = sent_to is not None and any(row["partition"] != sent_to for row in lies)
        unsent = history.nobody_sent(record) and bool(record.log or record.ok)
        if damaged or moved or unsent:
            where = partition_of(history, record)
            found.append(
                Finding("corrupt-payload", partition=where, incarnation=record.identity[1])
            )
    return found


def inconsistent_offsets(history: History) -> list[Finding]:
    """Find offsets with two values among acknowledgements, deliveries and log."""
    values: dict[Place, dict[tuple[str, str, int], Record]] = {}
    for record in history.records:
        at = {place_of(row) for row in [*record.log, *record.ok]}
        acked = acked_place(history, record)
        for place in at | ({acked} if acked else set()):
            values.setdefault(place, {})[record.identity] = record
    found: list[Finding] = []
    for place, records in values.items():
        if len(records) < 2:
            continue
        held = {identity_of(row) for row in history.log_at(place)}
        rules = [
            value_rule(history, record, place)
            for identity, record in records.items()
            if identity not in held
        ]
        rule = max((rule for rule in rules if rule), default=None)
        # A log that was not read may hold any one of them.
        held_by_log = 0 if history.read(place[0]) else 1
        permitted = bool(rules) and rules.count(None) <= held_by_log
        found.append(
            Finding("inconsistent-offsets", rule if permitted else None, partition=place[0])
        )
    return found


def value_rule(history: History, record: Record, place: Place) -> str | None:
    """Return the rule that permits a record to be gone from a place that had it."""
    here = [row for row in record.ok if place_of(row) == place]
    if here:
        return place_rule(history, record, here[0])
    acks = history.acks(record.identity[0])
    if record.send is None:
        return None
    return loss_permitted(history, acks, *place, record.send["done_at"])
