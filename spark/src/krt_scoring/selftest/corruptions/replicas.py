"""An ack while the in-sync replicas were too few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.anomalies import accepted_below_min_isr
from krt_scoring.anomalies.accepted_below_min_isr import SETTLING
from krt_scoring.anomalies.registry import unchecked
from krt_scoring.inputs.client_settings import producer_settings
from krt_scoring.selftest.corruption import (
    Corruption,
    Kind,
    of_record,
    once,
)
from krt_scoring.selftest.difference import Difference
from krt_scoring.selftest.patch import Patch, ShortIsr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline, Record

SHORT = "ack-below-min-isr"


def _isr(baseline: Baseline, record: Record, minimum: int) -> tuple[int, ...] | None:
    """The replicas to name while the ISR is short; None where it was, or changed, around it.

    Nor where a leader may not have known of it: then such an ack is none of Kafka's faults.
    """
    topic, partition, _ = record.position
    states = baseline.states.get((topic, partition), ())
    begin, end = record.send["sent_at"] - SETTLING, record.send["done_at"]
    before = [isr for at, isr in states if at <= begin]
    doubts = baseline.doubts.get((topic, partition), ())
    unknown = any(since <= end and begin <= until for since, until in doubts)
    changed = any(begin <= at <= end for at, _ in states) or (states and not before)
    if unknown or changed:
        return None
    full_isr = before[-1] if before else tuple(range(minimum))
    return full_isr[: minimum - 1] if len(full_isr) >= minimum else None


def _short(baseline: Baseline) -> Iterator[Corruption]:
    """Let the ISR have been too short from just before a send until its ack."""
    if accepted_below_min_isr.NAME in unchecked(baseline.facts.run):
        return
    for point, index in baseline.positions(SHORT):
        record = point.records[index]
        topic, partition, _ = record.position
        minimum = baseline.facts.run.min_insync(topic)
        together = baseline.in_flight.get(record.sent)
        isr = _isr(baseline, record, minimum)
        here = {item.sent: item for item in point.records}
        if record.aborted or isr is None or together is None or not set(together) <= set(here):
            continue
        under = [here[sent] for sent in together]
        acked = [
            item
            for item in under
            if producer_settings(baseline.facts.run, item.sent[0]).acks == "all"
        ]
        if record not in acked:
            continue
        state = ShortIsr(
            topic,
            partition,
            record.send["sent_at"] - SETTLING,
            record.send["done_at"],
            isr,
        )
        findings = once(*[of_record("accepted-below-min-isr", item) for item in acked])
        depends_on = {item.position for item in under} | {item.sent for item in under}
        yield Corruption(
            SHORT,
            record.position,
            Patch(states=(state,)),
            Difference(findings),
            frozenset({*depends_on, ("states", topic, partition)}),
        )


KINDS = (
    Kind(
        SHORT,
        ("accepted-below-min-isr",),
        "an acks=all send acked while its ISR stayed as it was",
        _short,
    ),
)
