"""Defects of producers, consumers and the group coordinator."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.spark.model import truth
from tests.spark.model.defect import Defect
from tests.spark.model.engine import SECOND

if TYPE_CHECKING:
    from tests.spark.model.consumer import Consumer
    from tests.spark.model.log import Entry
    from tests.spark.model.scoring import Findings


class SendsRefused(Defect):
    """A send that the client refused goes out all the same."""

    joint = "send-refused"

    def expected(self) -> Findings:
        return Counter({("aborted-read", None): int(bool(self.struck))})


class SwapsSends(Defect):
    """Two queued sends go out in the wrong order."""

    joint = "swap-sends"

    def fits(self, **facts: Any) -> bool:
        first, second = facts["queue"][:2]
        return bool(first.tries == second.tries == 0 and facts["producer"].plan.acks == "all")

    def expected(self) -> Findings:
        first, second = (send.record for send in self.struck["queue"][:2])
        before, after = truth.places(self.world, second), truth.places(self.world, first)
        if not before or not after or before > after:
            # One of them was not written, or only by a later try, or was cut.
            return Counter()
        plan = self.struck["producer"].plan
        permitted = plan.retries and not plan.idempotent and plan.in_flight > 1
        name = "nonmonotonic-send" if first.transaction is None else "int-nonmonotonic-send"
        return Counter({(name, "retries-without-idempotence" if permitted else None): 1})


class Garbles(Defect):
    """A delivery's bytes differ from the log's."""

    joint = "garble"

    def expected(self) -> Findings:
        return Counter({("corrupt-payload", None): int(bool(self.struck))})


class ShowsAborted(Defect):
    """A read_committed consumer hands out an aborted record."""

    joint = "show-aborted"

    def expected(self) -> Findings:
        return Counter({("aborted-read", None): int(bool(self.struck))})


class Handing(Defect):
    """A defect in handing out a batch; ``at`` is the place in it where it acts."""

    least = 1

    def handing(self, consumer: Consumer, number: int, batch: list[Entry]) -> list[Entry]:
        begun = consumer.deliveries and any(
            row["partition"] == number for row in consumer.deliveries
        )
        if self.facts is not None or not self.calm or not begun or len(batch) < self.least:
            return batch
        at = self.place()
        self.facts = {
            "consumer": consumer, "number": number, "at": at, "batch": list(batch),
        }  # fmt: skip
        return self.turn(batch, at)

    def place(self) -> int:
        """Return where in a batch to act."""
        return 0

    def turn(self, batch: list[Entry], at: int) -> list[Entry]:
        """Return what is handed out instead."""
        raise NotImplementedError

    def inside(self, step: int) -> str:
        """Return the prefix of a jump's name: whether its ``step``-th record has one before it."""
        return "int-" if step > 0 else ""


class SkipsRecord(Handing):
    """A record is never handed out."""

    least = 2

    def turn(self, batch: list[Entry], at: int) -> list[Entry]:
        return batch[:at] + batch[at + 1 :]

    def expected(self) -> Findings:
        entry = self.struck["batch"][self.struck["at"]]
        group, number = self.struck["consumer"].group, self.struck["number"]
        return Counter(
            {
                (f"{self.inside(self.struck['at'])}poll-skip", None): 1,
                ("unseen", None): 1,
                ("commit-ahead", None): truth.commits_above(
                    self.world, group, number, entry.offset
                ),
            }
        )


class SkipsInside(SkipsRecord):
    """The same between two records of one batch."""

    least = 3

    def place(self) -> int:
        return 1


class HandsTwice(Handing):
    """A record is handed out twice in a row."""

    def turn(self, batch: list[Entry], at: int) -> list[Entry]:
        return batch[: at + 1] + batch[at:]

    def expected(self) -> Findings:
        count = int(bool(self.struck))
        return Counter(
            {("duplicate-delivery", None): count, ("int-nonmonotonic-poll", None): count}
        )


class HandsBackwards(Handing):
    """Two records are handed out in the wrong order: over the first, back, over the second."""

    least = 2

    def turn(self, batch: list[Entry], at: int) -> list[Entry]:
        return [*batch[:at], batch[at + 1], batch[at], *batch[at + 2 :]]

    def expected(self) -> Findings:
        batch, at = self.struck["batch"], self.struck["at"]
        found: Findings = Counter({("int-nonmonotonic-poll", None): 1})
        found[f"{self.inside(at)}poll-skip", None] += 1
        found[f"{'int-' if at + 2 < len(batch) else ''}poll-skip", None] += 1
        found["key-order", None] += int(batch[at].record.key == batch[at + 1].record.key)
        return found


class CommitsAhead(Defect):
    """A member that gives a partition up commits one record more than it handed out."""

    joint = "commit-ahead"

    def fits(self, **facts: Any) -> bool:
        consumer, number = facts["consumer"], facts["partition"]
        known = consumer.positions[number] > 0 and self.world.scenario.kind != "transactional"
        return bool(facts["leaving"] and known)

    def strikes(self, joint: str, **facts: object) -> bool:
        """Remember which record was passed."""
        struck = super().strikes(joint, **facts)
        if struck and self.facts is not None:
            consumer: Any = facts["consumer"]
            self.facts["offset"] = consumer.positions[facts["partition"]]
        return struck

    def expected(self) -> Findings:
        group, number = self.struck["consumer"].group, self.struck["partition"]
        passed = self.world.log(number).entries[self.struck["offset"]].record
        if any(row["record"] == passed for _, row in truth.rows(self.world, group)):
            # The next owner noticed, and went back.
            return Counter()
        above = truth.commits_above(self.world, group, number, self.struck["offset"])
        return Counter({("unseen", None): 1, ("commit-ahead", None): above})


class LosesCommit(Defect):
    """The coordinator confirms the last commit of a member that leaves, and forgets it."""

    joint = "lose-commit"

    def fits(self, **facts: Any) -> bool:
        group, number, offset = facts["group"], facts["partition"], facts["offset"]
        return bool(
            facts["leaving"] and number in group.committed and offset > group.committed[number][0]
        )

    def strikes(self, joint: str, **facts: object) -> bool:
        """Remember what is kept instead."""
        struck = super().strikes(joint, **facts)
        if struck and self.facts is not None:
            group: Any = facts["group"]
            self.facts["kept"] = group.committed[facts["partition"]][0]
        return struck

    def expected(self) -> Findings:
        back = truth.rewinds(self.world) - truth.rewinds(self.sound)
        if not back:
            # No member had heard that what the next owner starts below is committed.
            return Counter()
        again = truth.repeats(self.world) - truth.repeats(self.sound)
        return Counter({("commit-rewind", None): back, ("duplicate-delivery", None): again})


class Rewinds(Defect):
    """A new owner starts two records below what the group had committed."""

    joint = "rewind"

    def fits(self, **facts: Any) -> bool:
        return bool(facts["offset"] > 2)

    def expected(self) -> Findings:
        consumer, number, offset = (self.struck[key] for key in ("consumer", "partition", "offset"))
        back = truth.rewinds(self.world) - truth.rewinds(self.sound)
        if not back:
            # No member had heard that what it starts below is committed.
            return Counter()
        below = [(consumer.group.plan.name, number, at) for at in (offset - 2, offset - 1)]
        again = truth.repeats(self.world, below) - truth.repeats(self.sound, below)
        return Counter({("commit-rewind", None): back, ("duplicate-delivery", None): again})


PATIENCE = 6 * SECOND
"""max(session timeout, 2 heartbeats): for how long an old owner may go on."""


class ForgetsMember(Defect):
    """The coordinator gives a member's partitions to others and never tells it.

    It goes on confirming the member's commits, and keeps none: a commit it confirmed before it
    gave the partition away is one that the new owner then starts below.
    """

    joint = "forget-member"

    def fits(self, **facts: Any) -> bool:
        group = facts["group"]
        return self.calm and len(group.members) > 1

    def expected(self) -> Findings:
        again = truth.repeats(self.world) - truth.repeats(self.sound)
        both = truth.both_own(self.world, self.struck["member"], PATIENCE)
        back = truth.rewinds(self.world) - truth.rewinds(self.sound)
        return Counter(
            {
                ("double-ownership", None): both,
                ("duplicate-delivery", None): again,
                ("commit-rewind", None): back,
            }
        )
