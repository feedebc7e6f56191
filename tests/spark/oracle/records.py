"""The rules of single records: lost, vanished, misplaced, copied, aborted, corrupt.

docs/concepts/anomalies.md, the table and "Places".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place, loss_permitted, usable_offset
from tests.spark.oracle.history import Finding, History, Record, identity_of, place_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import Place, Row


def first_delivery(record: Record) -> int | None:
    """Return when a record was first delivered successfully."""
    return min((row["delivered_at"] for row in record.ok), default=None)


def was_aborted(record: Record) -> bool:
    """Whether the producer knows that the transaction of a record was aborted."""
    return record.send is not None and record.send["transaction_outcome"] == "aborted"


def expired(history: History, record: Record) -> bool:
    """Whether a record that is in no log lay below the start of its log."""
    if record.log:
        return False
    place = acked_place(history, record)
    if place is None and record.ok:
        place = place_of(record.ok[-1])
    return place is not None and history.below_start(place)


def transaction_verified(history: History, record: Record) -> bool:
    """Whether some send of an undecided transaction proves that it was committed."""
    send = record.send
    if send is None or send["transaction"] is None:
        return False
    committed_only = {group.name for group in history.groups if group.committed_only}
    for other in history.records:
        mate = other.send
        if mate is None or mate["producer_incarnation"] != send["producer_incarnation"]:
            continue
        if mate["transaction"] != send["transaction"]:
            continue
        if any(row["state"] == "committed" for row in other.log):
            return True
        if any(row["group"] in committed_only for row in other.ok):
            return True
    return False


def verified(history: History, record: Record) -> bool:
    """Whether an unknown send is known to have been written and not aborted."""
    if record.outcome != "unknown" or history.nobody_sent(record):
        return False
    if record.send is not None and record.send["transaction"] is not None:
        return transaction_verified(history, record)
    return bool(record.ok) and not any(row["state"] == "aborted" for row in record.log)


def log_of(record: Record) -> int | None:
    """Return the partition whose log would hold a record."""
    if record.send is not None and record.send["partition"] is not None:
        return int(record.send["partition"])
    return int(record.ok[-1]["partition"]) if record.ok else None


def read_past(history: History, record: Record) -> bool:
    """Whether a group that was owed a record read beyond it, and nobody was ever given it."""
    if record.deliveries:
        return False
    place = acked_place(history, record)
    if place is None or record.send is None:
        return True
    undecided = record.send["transaction_outcome"] not in (None, "committed")
    return any(
        history.owed(place, group)
        and not (group.committed_only and undecided)
        and any(
            row["group"] == group.name
            and row["outcome"] == "ok"
            and row["partition"] == place[0]
            and row["offset"] > place[1]
            for row in history.deliveries
        )
        for group in history.groups
    )


def lost(history: History, record: Record) -> bool:
    """Whether a record that must be in the log is not."""
    acked = record.outcome == "acked"
    if record.present or not (acked or verified(history, record)):
        return False
    partition = log_of(record)
    if partition is not None and not history.read(partition):
        return acked and read_past(history, record)
    return not expired(history, record)


def loss_rule(history: History, record: Record) -> str | None:
    """Return the rule that permits to lose a record."""
    acks = history.acks(record.identity[0])
    rule = cut_rule(history, record)
    unproven = acks == "0" and not record.ok and usable_offset(history, record) is None
    return rule or ("acks-0-not-provably-appended" if unproven else None)


def cut_rule(history: History, record: Record) -> str | None:
    """Return the rule by which an election may have cut a record."""
    acks = history.acks(record.identity[0])
    send, delivered = record.send, first_delivery(record)
    place = acked_place(history, record)
    if place is not None and send is not None:
        return loss_permitted(history, acks, place[0], place[1], send["done_at"])
    if delivered is not None:
        first = min(place_of(row) for row in record.ok)
        return loss_permitted(history, acks, *first, appended_by(history, record, first))
    if send is None:
        return None
    return loss_permitted(history, acks, send["partition"], None, send["done_at"])


def appended_by(history: History, record: Record, place: Place) -> int:
    """Return by when a record had been appended at a place.

    Its acknowledgement tells for its own place; for any other, and of what was never
    acknowledged, the first delivery may tell it earlier.
    """
    send, delivered = record.send, first_delivery(record)
    if send is None:
        return delivered or 0
    acked = acked_place(history, record)
    if send["outcome"] == "acked" and acked in (None, place):
        return int(send["done_at"])
    return min(send["done_at"], delivered) if delivered is not None else int(send["done_at"])


def lost_write(history: History) -> list[Finding]:
    """Find what must be in the log and is not."""
    return [
        Finding(
            "lost-write",
            loss_rule(history, record),
            partition=log_of(record),
            incarnation=record.identity[1],
        )
        for record in history.records
        if lost(history, record)
    ]


def acked_in_unread(history: History, record: Record) -> bool:
    """Whether a record was acknowledged in a partition whose log was not read."""
    send = record.send
    acked = send is not None and send["outcome"] == "acked" and send["partition"] is not None
    return acked and send is not None and not history.read(send["partition"])


def place_rule(history: History, record: Record, row: Row) -> str | None:
    """Return the rule that permits what was delivered from a place to be gone from there."""
    place = place_of(row)
    return loss_permitted(history, "all", *place, appended_by(history, record, place))


def vanished_read(history: History) -> list[Finding]:
    """Find what was delivered from above the start of a log and is in no log."""
    found: list[Finding] = []
    for record in history.records:
        rows = [row for row in record.ok if history.judged(place_of(row))]
        if record.log or not rows or acked_in_unread(history, record):
            continue
        rule = place_rule(history, record, rows[-1])
        found.append(
            Finding(
                "vanished-read",
                rule,
                partition=rows[-1]["partition"],
                incarnation=record.identity[1],
            )
        )
    return found


def misplaced_delivery(history: History) -> list[Finding]:
    """Find deliveries from where the log does not hold the record."""
    found: list[Finding] = []
    for record in history.records:
        for row in record.ok:
            elsewhere = bool(record.log) or acked_in_unread(history, record)
            if history.delivers(row) or not elsewhere:
                continue
            rule = place_rule(history, record, row)
            found.append(
                Finding(
                    "misplaced-delivery",
                    rule,
                    partition=row["partition"],
                    group=row["group"],
                    incarnation=record.identity[1],
                )
            )
    for row in history.deliveries:
        nothing = not history.log_at(place_of(row)) and identity_of(row) is None
        if nothing and row["outcome"] == "ok" and history.judged(place_of(row)):
            found.append(
                Finding("misplaced-delivery", partition=row["partition"], group=row["group"])
            )
    return found


def places(history: History, record: Record) -> set[Place]:
    """Return where a record lies; of a log that was not read, where it was delivered from."""
    if record.log:
        return {place_of(row) for row in record.log}
    return {place_of(row) for row in record.ok if not history.read(row["partition"])}


def duplicate_rule(history: History, record: Record) -> str | None:
    """Return the rule that permits a record to be written twice."""
    producer, incarnation, _ = record.identity
    if not history.idempotent(producer):
        return "retries-without-idempotence" if history.retries(producer) else None
    send = record.send
    if send is not None and send["transaction"] is not None:
        return None
    if any(row["state"] != "plain" for row in record.log):
        return None
    for other in history.sends:
        if other["producer_incarnation"] != incarnation or other is send:
            continue
        if other["error"] != "_MSG_TIMED_OUT" or other["outcome"] != "unknown":
            continue
        if send is None or send["sent_at"] <= other["done_at"] <= send["done_at"]:
            return "message-timeout-expiry"
    here = {place[0] for place in places(history, record)}
    for event in history.timeline:
        if event.event != "sequence-refused" or history.in_flight(producer) < 2:
            continue
        partition = int(event.subject.rpartition("-")[2])
        in_flight = send is None or send["sent_at"] <= event.at <= send["done_at"]
        if partition not in here and in_flight:
            return "skipped-sequence"
    return None


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
            seen = bool(record.present) or bool(record.ok)
        if record.log and not record.present:
            seen = seen or bool(to_committed)
        if seen:
            where = (record.log or record.ok)[0]["partition"]
            found.append(Finding("aborted-read", partition=where, incarnation=record.identity[1]))
    return found


def corrupt_payload(history: History) -> list[Finding]:
    """Find damaged bytes, seqs that nobody sent, and records in another partition."""
    found: list[Finding] = []
    for record in history.records:
        sent_to = record.send["partition"] if record.send is not None else None
        damaged = any(not row["checksum_ok"] for row in [*record.log, *record.deliveries])
        in_unread = acked_in_unread(history, record)
        shown = [row for row in record.ok if not (in_unread and history.judged(place_of(row)))]
        lies = record.log or shown
        moved = sent_to is not None and any(row["partition"] != sent_to for row in lies)
        unsent = history.nobody_sent(record) and bool(record.log or record.deliveries)
        if damaged or moved or unsent:
            where = [*record.log, *record.deliveries][0]["partition"]
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
        rule = min((rule for rule in rules if rule), default=None)
        permitted = bool(rules) and all(rule is not None for rule in rules)
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
