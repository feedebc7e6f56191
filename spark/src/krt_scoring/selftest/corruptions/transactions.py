"""What was not to be written, or not yet to be read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_contract.outcomes import LogState, SendOutcome
from krt_scoring.selftest.corruption import (
    Corruption,
    Kind,
    of_record,
    once,
    reading,
)
from krt_scoring.selftest.difference import Difference, plus
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Ground, Record

FAILED, ABORTED, EARLY = "failed-send-in-log", "aborted-send-committed", "read-before-commit"


def _closing(ground: Ground, record: Record, **deltas: int) -> Counter[tuple[str, str, str]]:
    producer, incarnation, _ = record.sent
    if not ground.closed(record):
        return Counter()
    return Counter({(producer, incarnation, name): count for name, count in deltas.items()})


def _failed(ground: Ground) -> Iterator[Corruption]:
    """Let a producer say that a send certainly failed; it lies in the log all the same."""
    for site, index in ground.places(FAILED):
        record = site.records[index]
        if record.aborted or record.send["transaction"] is not None:
            continue
        failed = record.send | {
            "outcome": SendOutcome.FAILED.value,
            "offset": None,
            "error": "MSG_SIZE_TOO_LARGE",
        }
        patch = Patch(
            produce={record.sent: [failed]},
            close=_closing(ground, record, acked=-1, failed=1),
        )
        found = once(of_record("aborted-read", record, tag="failedSend"))
        ledger = Counter(acked=-1, failed=1, delivered=-1, failedInLog=1)
        held = frozenset({record.place})
        yield Corruption(FAILED, record.place, patch, Difference(found, ledger), held)


def _aborted(ground: Ground) -> Iterator[Corruption]:
    """Let the log hold a send of an aborted transaction as committed."""
    for site, index in ground.places(ABORTED):
        record = site.records[index]
        tp = ground.facts.places.tp(*site.place)
        strict = [
            group.name
            for group in ground.facts.groups
            if group.committed_only and (group.index, tp) in ground.facts.starts
        ]
        near = all(site.around(group, record.offset, record.offset) for group in strict)
        if not record.aborted or not near:
            continue
        committed = record.log | {"state": LogState.COMMITTED.value}
        log = [committed if item is record else item.log for item in site.records]
        found = once(of_record("aborted-read", record, tag="transaction"))
        for group in sorted({group for item in site.records for group in item.got}):
            found = plus(found, reading(ground, site, group, site.read(group), log))
        ledger = Counter(failedNotInLog=-1, failedInLog=1)
        patch = Patch(log={record.place: [committed]})
        held = frozenset({record.sent})
        yield Corruption(ABORTED, record.place, patch, Difference(found, ledger), held)


def _early(ground: Ground) -> Iterator[Corruption]:
    """Let the pod that wrote a record read it before it sent the rest of its transaction."""
    for site, index in ground.places(EARLY):
        record = site.records[index]
        groups = [name for name in sorted(record.got) if ground.group(name).committed_only]
        if record.aborted or record.send["transaction"] is None or not groups:
            continue
        group = groups[0]
        if not site.around(group, record.offset, record.offset):
            continue
        row = record.got[group]
        own = row | {
            "incarnation": record.sent[1],
            "delivered_mono": record.send["sent_mono"] - 1,
        }
        # Without a key: whose the first delivery of a key was is not what is tested here.
        keyless = record.log | {"key": None}
        log = [keyless if item is record else item.log for item in site.records]
        after = [other for other in site.read(group) if other is not row]
        found = plus(
            reading(ground, site, group, after, log),
            once(of_record("precommitted-read", record, grp=group)),
        )
        patch = Patch(
            log={record.place: [keyless]},
            consume={record.place: [own if other is row else other for other in record.deliveries]},
        )
        # Two such deliveries of one pod would be a sequence of their own.
        held = frozenset({record.sent, ("read by", record.sent[1], group, *site.place)})
        yield Corruption(EARLY, record.place, patch, Difference(found), held)


KINDS = (
    Kind(FAILED, ("aborted-read",), "a record sent outside transactions", _failed),
    Kind(ABORTED, ("aborted-read",), "a record of an aborted transaction in the log", _aborted),
    Kind(
        EARLY,
        ("precommitted-read",),
        "a record of a committed transaction read by a read_committed group",
        _early,
    ),
)
