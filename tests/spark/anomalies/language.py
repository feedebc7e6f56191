"""Histories as readable tables: one line a fact, in the order things happened.

Every case is a topic of its own, with producers and groups of its own, so that many cases are
judged in one run. A line's time is its number in the case, in seconds, unless ``at=`` is given.
``P/I#S`` is producer, incarnation, seq; ``0@5`` partition and offset, where 4 to 7 are partitions 0
to 3 of a second topic; a consumer is ``c1`` of group ``g``, or ``h.c1`` of group ``h``, its
incarnation after a slash where it matters.

    topic KEY=VALUE...                      settings of the topic
    second-topic KEY=VALUE...               settings of the second one
    producer P KEY=VALUE...                 acks, idempotent, transactional, topic=second, client
                                            settings
    group G KEY=VALUE...                    isolation, commit, output=second, client settings
    send P/I#S 0@5|0|- OUTCOME [txn=1:committed] [error=E] [key=K]
    killed P/I                              no close record
    log 0@5 P/I#S [state=aborted] [bad=1]   ("foreign" for no identity)
    got C 0@5 P/I#S [outcome=failed] [poll=3] [bad=1] [txn=1] [out=S]
    assigned C 0@5 | revoked C 0 | seek C 0@5 | committed C 0@5 [txn=1] | drained C 0 ... [gen=2]
        (as=P/I: of a pod that also produces, as that incarnation of P)
    bounds 0 START..END
    unread 0                                this partition's log was not read
    unsettled 0                             this partition's log never settled
    attempted P/I N                         what the incarnation says at its end that it attempted
    replica B 0@5..7 [P/I#S] [epoch=1] [crc=9] [bad=1] [control=commit]
                                            a batch of the replica on broker B, and its record
    replica B 0 empty                       the replica on broker B is empty
    undumped B 0                            the dump of the replica on broker B is incomplete
    isr 0 B,B                               who is in sync by the reading of the bounds; else 0,1
    leader 0 LEADER EPOCH ISR,ISR [until=2.5]
    polled                                  what follows of leaders was seen by polling; until= says
                                            when the state before was last seen, else a quarter of a
                                            second before
    offsets-leader GROUP LEADER EPOCH ISR   of the partition that holds the group's commits
    fault NAME ACTION [member=kafka-0] | reverted NAME
    freeze C|kafka-N | thaw C|kafka-N
    pod EVENT C
    expect ANOMALY COUNT [RULE]             all of them, and no others
    tag ANOMALY TAG COUNT                   all sub-counts of those anomalies that have such a line
    shown ANOMALY KEY=VALUE...              columns of one of them, or keys of its detail
    void ANOMALY COUNT                      those of them that rest on missing evidence
    outcomes NAME=COUNT...                  all of them, and no others
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from krt_contract.timeline import Event
from krt_scoring.history import tables as history_module

BROKERS = 10
"""Ids of brokers a case may name. Each case has brokers of its own: what happened to one case's
brokers says nothing of another's partitions."""


PARTITIONS = 4
"""Partitions of a topic; the numbers above are those of the second topic."""


OFFSETS_PARTITIONS = 50
"""Partitions of __consumer_offsets, as Kafka has them unless they are set."""


RUN = "run-uid"


SECOND = 1_000_000


CONSUMER_EVENTS = (
    "assigned", "revoked", "lost", "seek", "reset", "position", "eof", "drained",
    "committed", "commit_failed", "commit_unknown", "processed", "closed",
)  # fmt: skip


Rows = dict[str, list[dict[str, Any]]]


@dataclass
class Case:
    """One history, parsed."""

    name: str
    topic: dict[str, str] = field(default_factory=dict)
    second_topic: dict[str, str] = field(default_factory=dict)
    has_second_topic: bool = False
    producers: dict[str, dict[str, str]] = field(default_factory=dict)
    groups: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: Rows = field(default_factory=lambda: {name: [] for name in history_module.SCHEMAS})
    events: list[Event] = field(default_factory=list)
    killed: set[tuple[str, str]] = field(default_factory=set)
    bounds: dict[int, tuple[int, int]] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)
    unsettled: set[int] = field(default_factory=set)
    attempted: dict[str, int] = field(default_factory=dict)
    isr: dict[int, list[int]] = field(default_factory=dict)
    polled: bool = False
    undumped: set[tuple[int, int]] = field(default_factory=set)
    replica_offsets: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    expected: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    tags: Counter[tuple[str, str]] = field(default_factory=Counter)
    shown: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    void: Counter[str] = field(default_factory=Counter)
    judges_voids: bool = False
    """Whether it says which findings rest on missing evidence."""
    outcomes: dict[str, int] | None = None
    counters: Counter[str] = field(default_factory=Counter)
    number: int = 0
    """Its place among the cases judged together, 0 where it is judged alone."""
    text: str = ""
    """What it was parsed from."""
    start: int = 0
    """The time of its second 0, in µs: cases with faults of their own need times of their own."""

    def parse(self, text: str) -> Case:
        self.text = text
        for number, line in enumerate(text.strip().splitlines()):
            words = line.split()
            if not words or line.startswith("#"):
                continue
            options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            plain = [word for word in words[1:] if "=" not in word]
            at = self.time(options.pop("at", number))
            kind = words[0].replace("-", "_")
            if kind in CONSUMER_EVENTS:
                self.consumer_event(kind, plain, options, at)
            else:
                getattr(self, f"do_{kind}")(plain, options, at)
        self.finish()
        self.finish_replicas()
        return self

    def time(self, seconds: str | float) -> int:
        """Return a time of the case in µs."""
        return self.start + int(float(seconds) * SECOND)

    # What the run is.
    def do_topic(self, _: list[str], options: dict[str, str], _at: int) -> None:
        self.topic |= options

    def do_second_topic(self, _: list[str], options: dict[str, str], _at: int) -> None:
        self.second_topic |= options
        self.has_second_topic = True

    def topic_of(self, partition: int) -> str:
        """Return the topic of a partition by its number in the case."""
        second = partition >= PARTITIONS
        self.has_second_topic |= second
        return f"{self.name}-second" if second else self.name

    def topics(self) -> dict[str, dict[str, str]]:
        """Return the topics of the case and their settings."""
        second = {f"{self.name}-second": self.second_topic} if self.has_second_topic else {}
        return {self.name: self.topic} | second

    def subject(self, partition: int) -> str:
        """Return what the timeline calls a partition."""
        return f"{self.topic_of(partition)}-{partition % PARTITIONS}"

    def number_of(self, row: dict[str, Any]) -> int:
        """Return the number in the case of the partition that a row is about."""
        second = row["topic"] != self.name
        return int(row["partition"]) + (PARTITIONS if second else 0)

    def do_producer(self, plain: list[str], options: dict[str, str], _at: int) -> None:
        self.producers[plain[0]] = options
        self.has_second_topic |= options.get("topic") == "second"

    def do_group(self, plain: list[str], options: dict[str, str], _at: int) -> None:
        self.groups[plain[0]] = options
        self.has_second_topic |= options.get("output") == "second"

    def do_killed(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        name, incarnation = plain[0].split("/")
        self.killed.add((name, incarnation))

    def do_expect(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        rule = plain[2] if len(plain) > 2 else None
        self.expected[plain[0], rule] += int(plain[1])

    def do_tag(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        self.tags[plain[0], plain[1]] += int(plain[2])

    def do_shown(self, plain: list[str], options: dict[str, str], _at: int) -> None:
        self.shown.append((plain[0], options))

    def do_void(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        self.void[plain[0]] += int(plain[1])

    def do_outcomes(self, _: list[str], options: dict[str, str], _at: int) -> None:
        self.outcomes = {name: int(count) for name, count in options.items()}

    # What happened.
    def identity(self, text: str) -> dict[str, Any]:
        name, rest = text.split("/")
        incarnation, seq = rest.split("#")
        self.producers.setdefault(name, {})
        return {
            "producer": f"{self.name}-{name}-0",
            "producer_incarnation": f"{self.name}-{name}-{incarnation}",
            "seq": int(seq),
        }

    def position(self, text: str) -> dict[str, Any]:
        partition, _, offset = text.partition("@")
        known = None if partition == "-" else int(partition)
        return {
            "topic": self.name if known is None else self.topic_of(known),
            "partition": None if known is None else known % PARTITIONS,
            "offset": int(offset) if offset else None,
        }

    def do_send(self, plain: list[str], options: dict[str, str], at: int) -> None:
        transaction, _, decision = options.get("txn", "").partition(":")
        self.rows["produce"].append(
            {
                **self.identity(plain[0]),
                **self.position(plain[1]),
                "key": options.get("key"),
                "scheduled_at": at,
                "sent_at": at,
                "done_at": self.time(options["done"]) if "done" in options else at,
                "sent_mono": at,
                "done_mono": at,
                "outcome": plain[2],
                "error": options.get("error"),
                "transaction": int(transaction) if transaction else None,
                "transaction_outcome": decision or None,
            }
        )

    def do_log(self, plain: list[str], options: dict[str, str], at: int) -> None:
        foreign = plain[1] == "foreign"
        blank = {"producer": None, "producer_incarnation": None, "seq": None}
        self.rows["log"].append(
            {
                **self.position(plain[0]),
                **(blank if foreign else self.identity(plain[1])),
                "run_uid": None if foreign else RUN,
                "key": options.get("key"),
                "checksum_ok": "bad" not in options and not foreign,
                "size": 100,
                "timestamp": at,
                "state": options.get("state", "plain"),
            }
        )

    def member(self, text: str) -> dict[str, Any]:
        group, _, rest = text.rpartition(".")
        name, _, incarnation = rest.partition("/")
        group = group or "g"
        self.groups.setdefault(group, {})
        consumer = f"{self.name}-{group}-{name}"
        incarnation = f"{consumer}-{incarnation or 1}"
        self.counters[incarnation] += 1
        return {
            "consumer": consumer,
            "incarnation": incarnation,
            "group": group,
            "event_seq": self.counters[incarnation],
        }

    def do_got(self, plain: list[str], options: dict[str, str], at: int) -> None:
        foreign = plain[2] == "foreign"
        blank = {"producer": None, "producer_incarnation": None, "seq": None}
        member = self.member(plain[0])
        self.rows["consume"].append(
            {
                **member,
                "poll": int(options.get("poll", member["event_seq"] + 1000)),
                "poll_index": member["event_seq"],
                **self.position(plain[1]),
                **(blank if foreign else self.identity(plain[2])),
                "run_uid": None if foreign else RUN,
                "checksum_ok": "bad" not in options and not foreign,
                "delivered_at": at,
                "delivered_mono": at,
                "processed_at": at,
                "outcome": options.get("outcome", "ok"),
                "transaction": int(options["txn"]) if "txn" in options else None,
                "output_seq": int(options["out"]) if "out" in options else None,
                **self.pod(options),
            }
        )

    def group(self, name: str) -> str:
        """Return the group's name: groups of equal settings are one, to judge many cases fast."""
        options = self.groups[name]
        own = f"{self.name}-" if "own" in options else ""
        return "-".join([own + name, *(f"{key}={options[key]}" for key in sorted(options))])

    def value(self, row: dict[str, Any], column: str) -> Any:
        """Return a column of a row as the evidence holds it."""
        return self.group(row[column]) if column == "group" else row.get(column)

    def consumer_event(self, kind: str, plain: list[str], options: dict[str, str], at: int) -> None:
        member = self.member(plain[0])
        position = self.position(plain[1]) if len(plain) > 1 else {"topic": None}
        self.rows["consumer_events"].append(
            {
                **member,
                "poll": None,
                "at": at,
                "mono": at,
                "event": kind,
                **position,
                "generation": int(options["gen"]) if "gen" in options else None,
                "member_id": member["incarnation"],
                "detail": None,
                "transaction": int(options["txn"]) if "txn" in options else None,
                **self.pod(options),
            }
        )

    def do_freeze(self, plain: list[str], _: dict[str, str], at: int) -> None:
        self.stop_or_go_on(plain[0], "frozen", at)

    def do_thaw(self, plain: list[str], _: dict[str, str], at: int) -> None:
        self.stop_or_go_on(plain[0], "thawed", at)

    def stop_or_go_on(self, who: str, event: str, at: int) -> None:
        """Add that a consumer, or a broker like kafka-1, stopped or went on."""
        if who.startswith("kafka-"):
            who = self.broker(who)
            self.add_event(at, "member", event, who, uid=f"{self.name}-{who}", member=who)
            return
        member = self.member(who)
        self.counters[member["incarnation"]] -= 1
        self.add_event(at, "member", event, member["consumer"], uid=member["incarnation"])

    def broker(self, who: str) -> str:
        """Return the member's name among the brokers of all cases; any other member's as it is."""
        kind, _, ordinal = who.rpartition("-")
        return f"kafka-{self.number * BROKERS + int(ordinal)}" if kind == "kafka" else who

    def pod(self, options: dict[str, str]) -> dict[str, str]:
        """The incarnation of a pod that also produces, where ``as=`` names it."""
        if "as" not in options:
            return {}
        name, incarnation = options["as"].split("/")
        return {"incarnation": f"{self.name}-{name}-{incarnation}"}

    def do_bounds(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        start, end = plain[1].split("..")
        self.bounds[int(plain[0])] = (int(start), int(end))

    def do_unread(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        self.unread.add(int(plain[0]))

    def do_unsettled(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        self.unsettled.add(int(plain[0]))

    def do_attempted(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        name, incarnation = plain[0].split("/")
        self.attempted[f"{self.name}-{name}-{incarnation}"] = int(plain[1])

    def broker_id(self, text: str) -> int:
        """Return the id among the brokers of all cases."""
        return self.number * BROKERS + int(text)

    def do_isr(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        self.isr[int(plain[0])] = [self.broker_id(broker) for broker in plain[1].split(",")]

    def do_undumped(self, plain: list[str], _: dict[str, str], _at: int) -> None:
        self.undumped.add((self.broker_id(plain[0]), int(plain[1])))

    def do_replica(self, plain: list[str], options: dict[str, str], _at: int) -> None:
        broker = self.broker_id(plain[0])
        text, _, offsets = plain[1].partition("@")
        partition = int(text)
        offsets_of = self.replica_offsets.setdefault((broker, partition), [])
        if plain[-1] == "empty":
            return
        first, _, last = offsets.partition("..")
        base, end = int(first), int(last or first)
        whose = self.identity(plain[2]) if len(plain) > 2 else {}
        for offset in range(base, end + 1):
            offsets_of.append(offset)
            self.rows["replica_log"].append(
                {
                    "broker": broker,
                    "topic": self.topic_of(partition),
                    "partition": partition % PARTITIONS,
                    "offset": offset,
                    "leader_epoch": int(options.get("epoch", 0)),
                    "batch": base,
                    "batch_last": end,
                    "size": 100 * (end - base + 1),
                    "crc": int(options.get("crc", 1)),
                    "valid": "bad" not in options,
                    "control": options.get("control"),
                    "run_uid": RUN if whose else None,
                    **whose,
                }
            )

    def add_event(self, at: int, source: str, event: str, subject: str, **detail: object) -> None:
        self.events.append(Event(at, at, source, event, subject, detail))

    def do_polled(self, _: list[str], _options: dict[str, str], _at: int) -> None:
        self.polled = True

    def do_leader(self, plain: list[str], options: dict[str, str], at: int) -> None:
        partition, leader, epoch, isr = plain
        first = self.number * BROKERS
        order: dict[str, Any] = {"version": self.counters.total(), "controller_epoch": 1}
        if self.polled:
            until = self.time(options["until"]) if "until" in options else at - SECOND // 4
            order = {"from": "polling", "unchanged_until": until}
        self.add_event(
            at,
            "partition",
            "state",
            self.subject(int(partition)),
            leader=first + int(leader) if int(leader) >= 0 else -1,
            leader_epoch=int(epoch),
            isr=[first + int(broker) for broker in isr.split(",")],
            mtime=at,
            **order,
        )
        self.counters["version"] += 1

    def do_refused(self, plain: list[str], _: dict[str, str], at: int) -> None:
        self.add_event(at, "partition", "sequence-refused", self.subject(int(plain[0])))

    def do_offsets_leader(self, plain: list[str], options: dict[str, str], at: int) -> None:
        group, *state = plain
        self.do_leader(["0", *state], options, at)
        subject = f"__consumer_offsets-{self.offsets_partition(group)}"
        self.events[-1] = replace(self.events[-1], subject=subject)

    def offsets_partition(self, group: str) -> int:
        """Return the partition of __consumer_offsets that holds a group's commits."""
        value = 0
        for letter in self.group(group):
            # Java's hash of a text.
            value = (31 * value + ord(letter)) % (1 << 32)
        return value % (1 << 31) % OFFSETS_PARTITIONS

    def do_fault(self, plain: list[str], options: dict[str, str], at: int) -> None:
        targets = [{"member": self.broker(options["member"])}] if "member" in options else []
        name = self.fault(plain[0])
        self.add_event(at, "fault", "injected", name, action=plain[1], targets=targets)

    def do_reverted(self, plain: list[str], _: dict[str, str], at: int) -> None:
        self.add_event(at, "fault", "reverted", self.fault(plain[0]))

    def fault(self, name: str) -> str:
        """Return the name of a fault of this case among those of all."""
        return f"{self.name}-{name}" if self.number else name

    def do_pod(self, plain: list[str], _: dict[str, str], at: int) -> None:
        member = self.member(plain[1])
        self.counters[member["incarnation"]] -= 1
        self.add_event(
            at, "pod", plain[0], member["consumer"], uid=member["incarnation"], component="consumer"
        )

    def finish(self) -> None:
        """Close the incarnations that were not killed, and bound the partitions."""
        sent: dict[tuple[str, str], list[str]] = {}
        for row in self.rows["produce"]:
            identity = row["producer"], row["producer_incarnation"]
            sent.setdefault(identity, []).append(row["outcome"])
        dead = {(f"{self.name}-{name}-0", f"{self.name}-{name}-{inc}") for name, inc in self.killed}
        for (producer, incarnation), outcomes in sent.items():
            if (producer, incarnation) in dead:
                continue
            self.rows["producer_summary"].append(
                {
                    "producer": producer,
                    "producer_incarnation": incarnation,
                    "attempted": self.attempted.get(incarnation, len(outcomes)),
                    **{name: outcomes.count(name) for name in ("acked", "failed", "unknown")},
                    "at": 1000 * SECOND,
                }
            )
        for row in self.rows["log"]:
            low, high = self.bounds.get(self.number_of(row), (0, 0))
            self.bounds[self.number_of(row)] = low, max(high, row["offset"] + 1)
        for table in ("produce", "consume", "consumer_events"):
            for row in self.rows[table]:
                if row.get("partition") is not None:
                    self.bounds.setdefault(self.number_of(row), (0, 0))
        for partition, (low, high) in self.bounds.items():
            if partition in self.unread:
                continue
            self.rows["log_end_offsets"].append(
                {
                    "topic": self.topic_of(partition), "partition": partition % PARTITIONS,
                    "taken_at": 2000 * SECOND,
                    "log_start": low, "high_watermark": high, "last_stable": high,
                    "leader": 0, "leader_epoch": 0, "settled": partition not in self.unsettled,
                    "isr": self.isr.get(partition, [self.broker_id("0"), self.broker_id("1")]),
                    "read_from": low, "read_to": high, "rows_read": high - low,
                }
            )  # fmt: skip

    def finish_replicas(self) -> None:
        """Bound the replicas that were dumped."""
        for (broker, partition), offsets in self.replica_offsets.items():
            cut = (broker, partition) in self.undumped
            self.rows["replica_bounds"].append(
                {
                    "broker": broker, "topic": self.topic_of(partition),
                    "partition": partition % PARTITIONS,
                    "taken_at": 3000 * SECOND, "log_start": min(offsets, default=0),
                    "log_end": max(offsets, default=-1) + 1, "rows": len(offsets),
                    "problem": "it broke off" if cut else None,
                }
            )  # fmt: skip
