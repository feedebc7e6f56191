"""From a directory of the tools' output to a bundle.

What the files do not hold is not made up: no log and no bounds are written, so that losses are
known from deliveries alone, and the timeline holds no more than who began and how they ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.bundle import Bundle, write_json
from krt_contract.labels import Component
from krt_contract.timeline import Event, EventName, Source, TimelineWriter
from krt_scoring.inputs.importers.verifiable import (
    consumers,
    groups,
    layout,
    plan,
    producers,
    settings,
)
from krt_scoring.inputs.reasons import ALL, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from krt_scoring.inputs.importers.verifiable.consumers import Got
    from krt_scoring.inputs.importers.verifiable.producers import Sent
    from krt_scoring.inputs.importers.verifiable.settings import Settings
    from krt_scoring.inputs.importers.verifiable.values import Owners


@dataclass(frozen=True, slots=True)
class Imported:
    """A history as a bundle, and what of it could not be read."""

    bundle: Bundle
    reasons: tuple[Reason, ...]


def load(root: Path, into: Path) -> Imported:
    """Import a directory.

    Args:
        root: where the files lie; only read.
        into: an empty folder for the bundle.

    Raises:
        NotABundleError: ``root`` holds no such history.
        PlanError: its ``history.json`` cannot be used.
    """
    found = layout.scan(root)
    configured = settings.load(root / layout.SETTINGS, root.resolve().name)
    bundle = Bundle(into)
    sent = [
        producers.read(item, bundle, configured.producer(item.name)) for item in found.producers
    ]
    owners, ambiguous = _owners(sent)
    got = [consumers.read(item, bundle, owners) for item in found.consumers]
    groups.write(bundle, configured, got, plan.known_ends(sent, got))
    write_json(bundle.run_json, plan.make_plan(configured, sent, got).to_document())
    _write_timeline(bundle, configured, [*sent, *got])
    read = [*(item.reasons for item in sent), *(item.reasons for item in got)]
    whole = (*found.reasons, *ambiguous, *_missing(found))
    return Imported(bundle, (*whole, *(reason for own in read for reason in own)))


def _owners(sent: list[Sent]) -> tuple[Owners, list[Reason]]:
    """Return who sent which values; two processes of equal values cannot be distinguished."""
    owners: Owners = {}
    reasons = []
    for item in sent:
        if item.topic is None:
            continue
        other = owners.setdefault((item.topic, item.prefix), item.process)
        if other is not item.process:
            message = (
                f"sends the same values to {item.topic} as {other.path.name}, so a delivery does "
                "not tell whose record it is; give each producer a --value-prefix of its own"
            )
            subject = item.process.path.name
            reasons.append(Reason("evidence", "ValuesAmbiguous", subject, message, ALL))
    return owners, reasons


def _missing(found: layout.Layout) -> Iterator[Reason]:
    """Yield a reason where one of the two sides left nothing."""
    if not found.producers:
        message = "no file of a producer: nothing is known to have been sent"
        yield Reason("evidence", "FileMissing", "producer-*.jsonl", message, ALL)
    if not found.consumers:
        message = "no file of a consumer: nothing shows what became of the acked records"
        yield Reason("evidence", "FileMissing", "consumer-*.jsonl", message, consumers.VOIDS)


def _write_timeline(bundle: Bundle, configured: Settings, processes: list[Sent | Got]) -> None:
    """Write when each process began and how it ended; nothing else is known."""
    writer = TimelineWriter(bundle.timeline, "processes")
    # A process that wrote no line with a time, because it was killed before, says when it was there
    # least of all: it must not move the begin of the history.
    begin = min((item.first for item in processes if item.first), default=0)
    for item in processes:
        first, last = item.first or begin, item.last or begin
        uid = item.process.incarnation
        component = Component.CONSUMER if item.process.group else Component.PRODUCER
        detail = {"uid": uid, "component": component}
        writer.write(Event(first, first, Source.POD, EventName.ADDED, uid, detail))
        if not item.ended and uid in configured.killed:
            writer.write(Event(last, last, Source.MEMBER, EventName.KILLED, uid, detail))
        event = EventName.EXITED if item.ended else EventName.DELETED
        code = {"exitCode": 0} if item.ended else {}
        writer.write(Event(last, last, Source.POD, event, uid, {**detail, **code}))
    writer.close()
