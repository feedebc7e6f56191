"""One VerifiableConsumer's output as a consumer's ledger.

Records are listed (``--verbose``) before the line that sums up their poll, and printed before
they are committed, so a killed consumer never looks like a lost record. The two are counted
against each other: a listing that lost a line is distinguished from a Kafka that lost a record.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_scoring.inputs.evidence import CONSUME, CONSUMER_EVENTS
from krt_scoring.inputs.importers.verifiable import lines, values
from krt_scoring.inputs.importers.verifiable.sink import Sink
from krt_scoring.inputs.reasons import (
    DELIVERY_ANOMALIES,
    LOG_ANOMALIES,
    OWNERSHIP_ANOMALIES,
    Reason,
)
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from krt_contract.bundle import Bundle
    from krt_scoring.inputs.importers.verifiable.layout import Process
    from krt_scoring.inputs.importers.verifiable.values import Owners

RUN_UID = "imported"
"""Stands for the run a value would name if it named one."""

VOIDS = tuple(sorted({*DELIVERY_ANOMALIES, *OWNERSHIP_ANOMALIES, "lost-write"}))
"""Anomalies that rest on what a consumer printed; losses show in it alone."""

Place = tuple[str, int]


@dataclass(slots=True)
class Ownership:
    """A partition that was assigned, and the first record given of it.

    Attributes:
        order: what ownerships of a group are ordered by.
    """

    process: Process
    place: Place
    at: int
    n: int
    offset: int | None = None

    @property
    def order(self) -> tuple[int, str, str, int]:
        """The order in which the rules take them."""
        return self.at, self.process.identity, self.process.incarnation, self.n


@dataclass(slots=True)
class Got:
    """What a consumer's file holds.

    Attributes:
        ends: (topic, partition) → one above the highest offset given.
        next_n: the counter that the next event of the process would have.
    """

    process: Process
    owned: list[Ownership] = field(default_factory=list)
    ends: dict[Place, int] = field(default_factory=dict)
    next_n: int = 0
    first: int = 0
    last: int = 0
    ended: bool = False
    reasons: list[Reason] = field(default_factory=list)


def read(process: Process, bundle: Bundle, owners: Owners) -> Got:
    """Write a consumer's deliveries and events into ``bundle``, all but the assignments."""
    return _Reader(process, bundle, owners).run()


class _Reader:
    def __init__(self, process: Process, bundle: Bundle, owners: Owners) -> None:
        self._got = Got(process)
        self._owners = owners
        self._lines = lines.Lines(process.path)
        self._deliveries = Sink(bundle, "consume", process.incarnation)
        self._events = Sink(bundle, "consumer_events", process.incarnation)
        self._who = {
            "consumer": process.identity,
            "incarnation": process.incarnation,
            "group": process.group,
        }
        self._waiting: dict[Place, Ownership] = {}
        self._listed: Counter[Place] = Counter()
        self._ever_listed = False
        self._started = False
        self._unlisted: tuple[int, str] | None = None
        self._strays: tuple[int, int, str] | None = None
        self._poll = 0
        self._takes = {
            "startup_complete": self._startup,
            "partitions_assigned": self._assigned,
            "partitions_revoked": self._revoked,
            "record_data": self._delivery,
            "records_consumed": self._summary,
            "offsets_committed": self._commit,
            "shutdown_complete": self._shutdown,
        }

    def run(self) -> Got:
        for number, at, event in self._lines:
            try:
                self._take(number, at, event)
            except ValueError as error:
                self._lines.problem(number, str(error))
        for sink in (self._deliveries, self._events):
            sink.flush()
        self._got.first, self._got.last = self._lines.first, self._lines.last
        self._got.reasons.extend([*self._lines.reasons(VOIDS, self._scope()), *self._wanting()])
        return self._got

    def _take(self, number: int, at: int, event: dict[str, Any]) -> None:
        take = self._takes.get(event["name"])
        if take is None:
            raise ValueError(f"tells of {event['name']!r}, which VerifiableConsumer does not")
        take(number, at, event)

    def _startup(self, _number: int, _at: int, _event: dict[str, Any]) -> None:
        if self._started:
            raise ValueError("begins a second process; give each a file of its own")
        self._started = True

    def _shutdown(self, _number: int, at: int, _event: dict[str, Any]) -> None:
        self._event(at, ConsumerEvent.CLOSED, None)
        self._got.ended = True

    def _assigned(self, _number: int, at: int, event: dict[str, Any]) -> None:
        for place in _places(event):
            owned = Ownership(self._got.process, place, at, self._n())
            self._waiting[place] = owned
            self._got.owned.append(owned)

    def _revoked(self, _number: int, at: int, event: dict[str, Any]) -> None:
        for place in _places(event):
            self._waiting.pop(place, None)
            self._event(at, ConsumerEvent.REVOKED, place)

    def _n(self) -> int:
        self._got.next_n += 1
        return self._got.next_n - 1

    def _event(
        self, at: int, event: str, place: Place | None, offset: int | None = None, **more: Any
    ) -> None:
        where = {} if place is None else {"topic": place[0], "partition": place[1]}
        self._events.add(
            **self._who,
            **where,
            **more,
            event_seq=self._n(),
            at=at,
            mono=at,
            event=event,
            offset=offset,
        )

    def _delivery(self, number: int, at: int, event: dict[str, Any]) -> None:
        place = lines.text(event, "topic"), lines.number(event, "partition")
        offset = lines.number(event, "offset")
        parsed = values.parse(event.get("value"))
        sender = self._owners.get((place[0], parsed[0])) if parsed else None
        identity: dict[str, Any] = {}
        if parsed and sender:
            identity = {
                "run_uid": RUN_UID,
                "producer": sender.identity,
                "producer_incarnation": sender.incarnation,
                "seq": parsed[1],
            }
        else:
            first, count, value = self._strays or (number, 0, repr(event.get("value")))
            self._strays = first, count + 1, value
        self._listed[place] += 1
        self._ever_listed = True
        self._got.ends[place] = max(self._got.ends.get(place, 0), offset + 1)
        if owned := self._waiting.pop(place, None):
            owned.offset = offset
        n = self._n()
        self._deliveries.add(
            **self._who,
            **identity,
            event_seq=n,
            poll=self._poll,
            poll_index=self._listed.total() - 1,
            topic=place[0],
            partition=place[1],
            offset=offset,
            checksum_ok=bool(identity),
            delivered_at=at,
            delivered_mono=at,
            processed_at=at,
            outcome=DeliveryOutcome.OK,
        )

    def _summary(self, number: int, _at: int, event: dict[str, Any]) -> None:
        polled: Counter[Place] = Counter()
        for item in lines.listed(event, "partitions"):
            if "topic" not in item:
                raise ValueError("records_consumed without topic")
            place = str(item["topic"]), lines.number(item, "partition", event["name"])
            polled[place] += lines.number(item, "count", event["name"])
        if polled != self._listed and self._unlisted is None:
            self._unlisted = number, _difference(polled, self._listed)
        self._listed.clear()
        self._poll += 1

    def _commit(self, _number: int, at: int, event: dict[str, Any]) -> None:
        # The tool gives an error's text, not its class: whether the commit took place is open.
        done = event.get("success")
        if not isinstance(done, bool):
            raise ValueError("offsets_committed without success")  # noqa: TRY004 (as in lines)
        for item in lines.listed(event, "offsets"):
            place = str(item.get("topic")), lines.number(item, "partition", event["name"])
            offset = lines.number(item, "offset", event["name"])
            error = {} if done else {"detail": str(event.get("error"))}
            self._event(
                at,
                ConsumerEvent.COMMITTED if done else ConsumerEvent.COMMIT_UNKNOWN,
                place,
                offset,
                **error,
            )

    def _scope(self) -> Scope:
        """Return what rests on the file."""
        return Scope(tables=(CONSUME, CONSUMER_EVENTS), groups=(self._got.process.group,))

    def _wanting(self) -> list[Reason]:
        name = self._got.process.path.name
        found = []
        if self._unlisted is not None:
            number, difference = self._unlisted
            message = f"line {number}: {difference}: lines of this file are gone"
            if not self._ever_listed:
                message = "holds no record_data; run VerifiableConsumer with --verbose"
            subject = f"{name}:{number}"
            found.append(
                Reason("evidence", "DeliveriesNotListed", subject, message, VOIDS, self._scope())
            )
        if self._strays is not None:
            number, count, value = self._strays
            message = (
                f"{count} deliveries carry a value that no producer of this history sends, the "
                f"first on line {number}: {value}; add the file of its producer, or test on "
                "topics of their own"
            )
            found.append(
                Reason("evidence", "ForeignRecords", f"{name}:{number}", message, LOG_ANOMALIES)
            )
        return found


def _places(event: dict[str, Any]) -> list[Place]:
    return [
        (str(item.get("topic")), lines.number(item, "partition", event["name"]))
        for item in lines.listed(event, "partitions")
    ]


def _difference(polled: Counter[Place], listed: Counter[Place]) -> str:
    (topic, partition) = min(place for place in polled | listed if polled[place] != listed[place])
    place = topic, partition
    return (
        f"the poll gave {polled[place]} records of {topic}-{partition}, "
        f"the lines before it list {listed[place]}"
    )
