"""Defects of brokers: what they append, keep and answer."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.spark.model import truth
from tests.spark.model.defect import Defect

if TYPE_CHECKING:
    from tests.spark.model.log import Entry, Log, Record
    from tests.spark.model.partition import Partition
    from tests.spark.model.scoring import Findings
    from tests.spark.model.world import World


def strict(defect: Defect, record: Record) -> bool:
    """Whether nothing permits the loss of a record: acks=all, and told so."""
    send = defect.world.by_record[record]
    plan = next(item for item in defect.world.scenario.producers if item.name in record.incarnation)
    return plan.acks == "all" and send.outcome == "acked"


class LosesAckedRecord(Defect):
    """At an election, an acked record is gone from every replica."""

    def elected(self, partition: Partition, old: int) -> None:
        """Tear a hole into the new leader's log."""
        leading = partition.replicas.get(partition.leader)
        if self.facts is not None or leading is None or old < 0:
            return
        kept = leading.log.entries[: max(0, leading.high - 3)]
        for entry in reversed(kept):
            if entry.record and strict(self, entry.record):
                self.facts = {"record": entry.record}
                entry.record = None
                return

    def expected(self) -> Findings:
        """One record lost, and vanished if anybody had read it."""
        found: Findings = Counter({("lost-write", None): 1})
        if self.struck["record"] in truth.delivered(self.world):
            found["vanished-read", None] += 1
        return found


class AppendsRetryAgain(Defect):
    """A retry of an idempotent producer is appended a second time."""

    joint = "append-retry-again"

    def fits(self, **_facts: Any) -> bool:
        return True

    def expected(self) -> Findings:
        record = self.struck["request"].record
        permitted = record.transaction is None and truth.expired(
            self.world, record.incarnation, record.seq
        )
        rule = "message-timeout-expiry" if permitted else None
        return Counter({("duplicate-write", rule): 1})


class AppendsTwice(Defect):
    """One request is appended twice."""

    def appended(self, log: Log, entry: Entry) -> None:
        if self.facts is None and self.calm and entry.record:
            self.facts = {"record": entry.record}
            again = type(entry)(
                log.end, entry.epoch, entry.at, entry.record, entry.pid, entry.pepoch, entry.number
            )
            log.entries.append(again)

    def expected(self) -> Findings:
        record = self.struck["record"]
        if len(truth.places(self.world, record)) < 2:
            # One of them was cut with other records: a fault of the run has hidden the defect.
            return Counter()
        plan = next(p for p in self.sound.scenario.producers if p.name in record.incarnation)
        permitted = plan.retries and not plan.idempotent
        return Counter(
            {("duplicate-write", "retries-without-idempotence" if permitted else None): 1}
        )


class CorruptsLog(Defect):
    """Bytes of a record change before it is replicated."""

    def appended(self, _log: Log, entry: Entry) -> None:
        if self.facts is None and self.calm:
            self.facts = {"entry": entry}
            entry.whole = False

    def expected(self) -> Findings:
        return Counter({("corrupt-payload", None): int(bool(self.struck))})


class AcksElsewhere(Defect):
    """The answer names the offset of the record before."""

    joint = "ack-elsewhere"

    def fits(self, **facts: Any) -> bool:
        producer, send, offset = facts["producer"], facts["send"], facts["offset"]
        plain = producer.plan.acks == "all" and send.record.transaction is None
        if not self.calm or not plain or not offset:
            return False
        partition = self.world.cluster.partitions[send.record.partition]
        before = partition.replicas[partition.leader].log.entries[offset - 1]
        return before.record is not None

    def expected(self) -> Findings:
        return Counter({("inconsistent-offsets", None): int(bool(self.struck))})


class AcceptsBelowMinimum(Defect):
    """Leaders take acks=all sends while their ISR is below min.insync.replicas."""

    joint = "accept-below-min-isr"

    def strikes(self, joint: str, **facts: object) -> bool:
        """Strike whenever every leader must have heard that the ISR is too small."""
        if joint != self.joint or not self.fits(**facts):
            return False
        self.facts = dict(facts)
        return True

    def fits(self, **facts: Any) -> bool:
        sent = self.world.by_record[facts["request"].record].sent
        spans = truth.short_spans(self.world, facts["partition"].number)
        return any(known < sent and math.isinf(end) for known, end in spans)

    def expected(self) -> Findings:
        below = truth.acked_below_minimum(self.world) - truth.acked_below_minimum(self.sound)
        return Counter({("accepted-below-min-isr", None): below})


class ElectsOutsideIsr(Defect):
    """A replica from outside the ISR is elected though that is switched off."""

    joint = "elect-outside-isr"

    def fits(self, **_facts: Any) -> bool:
        return True

    def expected(self) -> Findings:
        return loss(self.world, self.sound) if self.struck else Counter()


class AcksBeforeReplicas(Defect):
    """acks=all is answered when the leader alone has the record."""

    joint = "ack-before-replicas"

    def strikes(self, joint: str, **facts: object) -> bool:
        """Strike always."""
        if joint != self.joint:
            return False
        self.facts = dict(facts)
        return True

    def expected(self) -> Findings:
        return loss(self.world, self.sound) if self.struck else Counter()


def loss(world: World, sound: World) -> Findings:
    """Return what a loss that only acks=1 and acks=0 permit must be found to have done."""

    def counts(of: World) -> Findings:
        kept, acked = truth.present(of), truth.acked(of)
        weak, blind = truth.sent_with(of, "1"), truth.sent_with(of, "0")
        found: Findings = Counter(
            {
                ("lost-write", None): len(acked - kept - weak - blind),
                ("lost-write", "acks-1-leader-change"): len((acked - kept) & weak),
                ("lost-write", "acks-0-leader-change"): len((acked - kept) & blind),
                ("vanished-read", None): len(truth.delivered(of) - kept),
                ("misplaced-delivery", None): truth.misplaced(of),
                ("duplicate-delivery", None): truth.repeats(of),
            }
        )
        for records in truth.contradictions(of):
            # Permitted where every record but the log's was only acked, and with acks=1.
            excused = records - kept <= weak - truth.delivered(of)
            found["inconsistent-offsets", "acks-1-leader-change" if excused else None] += 1
        return found

    found = counts(world)
    found.subtract(counts(sound))
    # Without a loss the defect has only changed when things happened.
    lost = any(count > 0 for (name, _), count in found.items() if name == "lost-write")
    return found if lost else Counter()


class KeepsWhatTheLeaderLacks(Defect):
    """A follower does not cut what the new leader never had, and goes on behind it."""

    joint = "keep-what-the-leader-lacks"

    def strikes(self, joint: str, **facts: object) -> bool:
        """Strike one replica, and go on at each of its fetches."""
        if joint != self.joint or self.facts not in (None, facts):
            return False
        self.facts = dict(facts)
        return True

    def expected(self) -> Findings:
        return Counter({("replica-divergence", None): truth.apart(self.world)})


class Misroutes(Defect):
    """A record lands in another partition than it was sent to."""

    joint = "misroute"

    def fits(self, **facts: Any) -> bool:
        producer, send = facts["producer"], facts["send"]
        here = self.world.cluster.partitions[send.record.partition]
        others = [
            item
            for item in self.world.cluster.partitions
            if item is not here and item.replicas[here.leader].leads
        ]
        return self.calm and producer.plan.acks == "all" and not producer.pid and bool(others)

    def expected(self) -> Findings:
        record = self.struck["send"].record
        offset = self.struck["send"].offset
        own = self.world.log(record.partition)
        told = offset < own.end and own.entries[offset].record is not None
        return Counter({("corrupt-payload", None): 1, ("inconsistent-offsets", None): int(told)})


class FlipsMarkers(Defect):
    """A transaction's markers say the opposite of what was decided.

    Args:
        decision: what was decided, and told to the producer.
        everywhere: in all of its partitions, or in the first one only.
    """

    def __init__(self, decision: str, *, everywhere: bool) -> None:
        super().__init__()
        self._decision, self._everywhere = decision, everywhere
        self._partitions: list[int] = []

    def marker(self, pid: str, partition: int, decision: str, *, first: bool) -> str:
        now = self.world.engine.now
        if self.facts is None:
            if decision != self._decision or not (self.calm and first):
                return decision
            self.facts = {"pid": pid, "at": now}
        elif (self.facts["pid"], self.facts["at"]) != (pid, now) or not self._everywhere:
            return decision
        self._partitions.append(partition)
        return "committed" if decision == "aborted" else "aborted"

    def expected(self) -> Findings:
        turned = 0
        for number in self._partitions:
            mine = [e for e in self.world.log(number).entries if e.pid == self.struck["pid"]]
            ends = [place for place, entry in enumerate(mine) if entry.marker]
            end = next(place for place in ends if mine[place].at >= self.struck["at"])
            begin = max((place + 1 for place in ends if place < end), default=0)
            turned += end - begin
        name = "lost-write" if self._decision == "committed" else "aborted-read"
        return Counter({(name, None): turned})
