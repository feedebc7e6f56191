"""A case as plain lists and dictionaries, and the questions that every rule asks of it.

Part of the reference checker: written from docs/concepts/anomalies.md and
docs/reference/allowances.md, without Spark, and without any code of the scorer. It is slow and
obvious on purpose: a rule is a loop over rows. What the language of cases cannot express is not
covered: restarts of producers that two pods share, clocks of three members.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.spark.anomalies.language import Case

    from krt_contract.timeline import Event

Row = dict[str, Any]
Identity = tuple[str, str, int]
"""Producer, incarnation, seq."""
Place = tuple[int, int]
"""Partition, by its number in the case, which says the topic as well, and offset."""

PARTITIONS = 4
"""Of each topic."""

SECOND = 1_000_000
ZOOKEEPER_SESSION = 18 * SECOND
CLOCKS = SECOND
"""What two members' clocks may differ by; also how long a leader may take to see a smaller ISR."""


@dataclass
class Record:
    """Everything that is known of one record."""

    identity: Identity
    send: Row | None = None
    log: list[Row] = field(default_factory=list)
    deliveries: list[Row] = field(default_factory=list)
    """Every delivery of it, whatever became of it, in order of time."""

    @property
    def present(self) -> list[Row]:
        """Rows of the log that hold it, but for those of an aborted transaction."""
        return [row for row in self.log if row["state"] != "aborted"]

    @property
    def ok(self) -> list[Row]:
        """The deliveries that succeeded."""
        return [row for row in self.deliveries if row["outcome"] == "ok"]

    @property
    def outcome(self) -> str:
        """What the producer knows of it; of what has no ledger row, nothing."""
        return self.send["outcome"] if self.send else "unknown"


@dataclass
class Group:
    """A consumer group and its settings."""

    name: str
    committed_only: bool
    transactional: bool
    session: int
    heartbeat: int
    poll_interval: int
    output: str
    """The topic that a group with ``commit: Transactional`` writes to."""

    @property
    def handover(self) -> int:
        """For how long after a new owner's assignment the previous owner may go on."""
        return max(self.session, 2 * self.heartbeat)


@dataclass
class Finding:
    """One anomaly, where it is, and the rule that permits it."""

    anomaly: str
    rule: str | None = None
    partition: int | None = None
    group: str | None = None
    incarnation: str | None = None


def identity_of(row: Row) -> Identity | None:
    """Return whose record a row of the log or of a consumer is; None of bytes nobody knows."""
    if row["producer"] is None:
        return None
    return row["producer"], row["producer_incarnation"], row["seq"]


def place_of(row: Row) -> Place:
    """Return where a record of the log lies or where a delivery came from."""
    return row["partition"], row["offset"]


def setting(options: dict[str, str], *names: str) -> str | None:
    """Return a setting that may be written in several ways."""
    return next((options[name] for name in names if name in options), None)


class History:
    """The evidence of one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.sends = self._rows("produce")
        self.log = self._rows("log")
        self.deliveries = self._rows("consume")
        self.events = self._rows("consumer_events")
        self.replicas = self._rows("replica_log")
        self.replica_bounds = self._rows("replica_bounds")
        self.timeline: list[Event] = sorted(case.events, key=lambda item: (item.at, item.line()))
        self.bounds = {row["partition"]: row for row in self._rows("log_end_offsets")}
        self.summaries = {row["producer_incarnation"]: row for row in case.rows["producer_summary"]}
        self.groups = [self._group(name) for name in case.groups]

    def _rows(self, table: str) -> list[Row]:
        """Return the rows of a table, their partitions by the numbers of the case."""
        blank: Row = {"partition": None, "offset": None}
        rows = [blank | row for row in self.case.rows[table]]
        return [
            row if row["partition"] is None else row | {"partition": self.case.number_of(row)}
            for row in rows
        ]

    # Settings.
    def topic(self, partition: int) -> dict[str, str]:
        """Return the settings of the topic of a partition."""
        return self.case.topics()[self.case.topic_of(partition)]

    def _group(self, name: str) -> Group:
        options = self.case.groups[name]

        def milliseconds(key: str, default: int) -> int:
            return int(options.get(key, default)) * 1000

        return Group(
            name=name,
            committed_only=options.get("isolation") == "read_committed",
            transactional=options.get("commit") == "Transactional",
            session=milliseconds("session.timeout.ms", 45_000),
            heartbeat=milliseconds("heartbeat.interval.ms", 3_000),
            poll_interval=milliseconds("max.poll.interval.ms", 300_000),
            output=self.case.topic_of(4 if options.get("output") == "second" else 0),
        )

    def group(self, name: str) -> Group:
        """Return a group by its name in the case."""
        return next(group for group in self.groups if group.name == name)

    def producer_options(self, producer: str) -> dict[str, str]:
        """Return the settings of a producer by the name that rows have."""
        for name, options in self.case.producers.items():
            if producer == f"{self.case.name}-{name}-0":
                return options
        return {}

    def acks(self, producer: str) -> str:
        """Return ``all``, ``1`` or ``0``."""
        return self.producer_options(producer).get("acks", "all")

    def transactional(self, producer: str) -> bool:
        """Whether a producer writes in transactions."""
        return "transactional" in self.producer_options(producer)

    def idempotent(self, producer: str) -> bool:
        """Whether the broker recognizes what a producer sends again."""
        options = self.producer_options(producer)
        return self.transactional(producer) or options.get("idempotent", "true") == "true"

    def retries(self, producer: str) -> bool:
        """Whether a producer sends again by itself."""
        value = setting(self.producer_options(producer), "message.send.max.retries", "retries")
        return value is None or int(value) > 0

    def in_flight(self, producer: str) -> int:
        """Return how many requests of a producer may be on their way."""
        value = setting(
            self.producer_options(producer),
            "max.in.flight.requests.per.connection",
            "max.in.flight",
        )
        return int(value) if value is not None else 5

    # Logs.
    @property
    def partitions(self) -> range:
        """Return the numbers of the partitions of all topics."""
        return range(PARTITIONS * len(self.case.topics()))

    def read(self, partition: int | None) -> bool:
        """Whether the log of a partition was read."""
        return partition in self.bounds

    def settled(self, partition: int) -> bool:
        """Whether the log of a partition was read and had settled."""
        return self.read(partition) and bool(self.bounds[partition]["settled"])

    def log_start(self, partition: int) -> int:
        """Return the first offset of a log that was read."""
        return int(self.bounds[partition]["log_start"])

    def log_end(self, partition: int) -> int:
        """Return the offset above the last one of a log that was read."""
        return int(self.bounds[partition]["high_watermark"])

    def below_start(self, place: Place) -> bool:
        """Whether a place lies below the start of its log."""
        return self.read(place[0]) and place[1] < self.log_start(place[0])

    def judged(self, place: Place) -> bool:
        """Whether the log tells what lies at a place."""
        return self.settled(place[0]) and not self.below_start(place)

    def log_at(self, place: Place) -> list[Row]:
        """Return what the log holds at a place."""
        return [row for row in self.log if place_of(row) == place]

    # Records.
    @cached_property
    def records(self) -> list[Record]:
        """Return every record that a ledger, the log or a delivery knows."""
        found: dict[Identity, Record] = {}

        def record(row: Row) -> Record | None:
            identity = identity_of(row)
            return found.setdefault(identity, Record(identity)) if identity else None

        for row in self.sends:
            if known := record(row):
                known.send = row
        for row in self.log:
            if known := record(row):
                known.log.append(row)
        for row in sorted(self.deliveries, key=lambda item: item["delivered_at"]):
            if known := record(row):
                known.deliveries.append(row)
        return list(found.values())

    def forget(self) -> None:
        """Group the rows by record anew: what they say has changed."""
        self.__dict__.pop("records", None)

    def nobody_sent(self, record: Record) -> bool:
        """Whether there was no such send: its number is above all that were attempted."""
        return record.send is None and record.identity[2] >= self.attempted(record.identity[1])

    def attempted(self, incarnation: str) -> int:
        """Return how many sends an incarnation attempted.

        Its summary tells, else the highest seq in its ledger or in undamaged bytes.
        """
        if incarnation in self.summaries:
            return int(self.summaries[incarnation]["attempted"])
        return 1 + max(
            (
                record.identity[2]
                for record in self.records
                if record.identity[1] == incarnation
                if record.send is not None
                or any(row["checksum_ok"] for row in [*record.log, *record.deliveries])
            ),
            default=-1,
        )

    # Deliveries.
    def delivers(self, row: Row) -> bool:
        """Whether a delivery succeeded and came from where the log holds its record.

        A place of which nobody knows what lay there counts as right.
        """
        if row["outcome"] != "ok":
            return False
        if not self.judged(place_of(row)):
            return True
        return any(identity_of(item) == identity_of(row) for item in self.log_at(place_of(row)))

    def visible(self, row: Row, group: Group) -> bool:
        """Whether a group may be given a record of the log."""
        if group.committed_only:
            return row["state"] in ("plain", "committed")
        return True

    def starts(self, group: Group, partition: int) -> int | None:
        """Return the offset of a group's first assignment on a partition."""
        found = [
            row
            for row in self.events
            if row["event"] == "assigned"
            and row["group"] == group.name
            and row["partition"] == partition
        ]

        def order(row: Row) -> tuple[int, str, str, int]:
            return row["at"], row["consumer"], row["incarnation"], row["event_seq"]

        return min(found, key=order)["offset"] if found else None

    def owed(self, place: Place, group: Group) -> bool:
        """Whether what lies at a place is owed to a group."""
        start = self.starts(group, place[0])
        return start is not None and place[1] >= start

    def drained(self, group: Group, partition: int) -> bool:
        """Whether a group read a partition to its end."""
        return any(
            row["event"] == "drained"
            and row["group"] == group.name
            and row["partition"] == partition
            for row in self.events
        )


def count(findings: list[Finding]) -> Counter[tuple[str, str | None]]:
    """Return how often each anomaly was found under each rule."""
    return Counter((finding.anomaly, finding.rule) for finding in findings)
