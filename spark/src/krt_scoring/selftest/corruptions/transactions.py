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

    from krt_scoring.selftest.baseline import Baseline, Record

FAILED, ABORTED, EARLY = "failed-send-in-log", "aborted-send-committed", "read-before-commit"


def _closing(baseline: Baseline, record: Record, **deltas: int) -> Counter[tuple[str, str, str]]:
    producer, incarnation, _ = record.sent
    if not baseline.closed(record):
        return Counter()
    return Counter({(producer, incarnation, name): count for name, count in deltas.items()})


def _failed(baseline: Baseline) -> Iterator[Corruption]:
    """Let a producer say that a send certainly failed; it lies in the log all the same."""
    for point, index in baseline.positions(FAILED):
        record = point.records[index]
        if record.aborted or record.send["transaction"] is not None:
            continue
        failed = record.send | {
            "outcome": SendOutcome.FAILED.value,
            "offset": None,
            "error": "MSG_SIZE_TOO_LARGE",
        }
        patch = Patch(
            produce={record.sent: [failed]},
            close=_closing(baseline, record, acked=-1, failed=1),
        )
        findings = once(of_record("aborted-read", record, tag="failedSend"))
        ledger = Counter(acked=-1, failed=1, delivered=-1, failedInLog=1)
        depends_on = frozenset({record.position})
        yield Corruption(FAILED, record.position, patch, Difference(findings, ledger), depends_on)


def _aborted(baseline: Baseline) -> Iterator[Corruption]:
    """Let the log hold a send of an aborted transaction as committed."""
    for point, index in baseline.positions(ABORTED):
        record = point.records[index]
        tp = baseline.facts.positions.tp(*point.position)
        strict = [
            group.name
            for group in baseline.facts.groups
            if group.committed_only and (group.index, tp) in baseline.facts.starts
        ]
        near = all(point.around(group, record.offset, record.offset) for group in strict)
        if not record.aborted or not near:
            continue
        committed = record.log | {"state": LogState.COMMITTED.value}
        log = [committed if item is record else item.log for item in point.records]
        findings = once(of_record("aborted-read", record, tag="transaction"))
        for group in sorted({group for item in point.records for group in item.got}):
            findings = plus(findings, reading(baseline, point, group, point.read(group), log))
        ledger = Counter(failedNotInLog=-1, failedInLog=1)
        patch = Patch(log={record.position: [committed]})
        depends_on = frozenset({record.sent})
        yield Corruption(ABORTED, record.position, patch, Difference(findings, ledger), depends_on)


def _early(baseline: Baseline) -> Iterator[Corruption]:
    """Let the pod that wrote a record read it before it sent the rest of its transaction."""
    for point, index in baseline.positions(EARLY):
        record = point.records[index]
        groups = [name for name in sorted(record.got) if baseline.group(name).committed_only]
        if record.aborted or record.send["transaction"] is None or not groups:
            continue
        group = groups[0]
        if not point.around(group, record.offset, record.offset):
            continue
        row = record.got[group]
        own = row | {
            "incarnation": record.sent[1],
            "delivered_mono": record.send["sent_mono"] - 1,
        }
        # Without a key: whose the first delivery of a key was is not what is tested here.
        keyless = record.log | {"key": None}
        log = [keyless if item is record else item.log for item in point.records]
        after = [other for other in point.read(group) if other is not row]
        findings = plus(
            reading(baseline, point, group, after, log),
            once(of_record("precommitted-read", record, grp=group)),
        )
        patch = Patch(
            log={record.position: [keyless]},
            consume={
                record.position: [own if other is row else other for other in record.deliveries]
            },
        )
        # Two such deliveries of one pod would be a sequence of their own.
        depends_on = frozenset({record.sent, ("read by", record.sent[1], group, *point.position)})
        yield Corruption(EARLY, record.position, patch, Difference(findings), depends_on)


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
