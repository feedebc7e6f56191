"""The group coordinator: members, rebalances, committed offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.model.engine import MS, SECOND

if TYPE_CHECKING:
    from tests.spark.model.consumer import Consumer
    from tests.spark.model.scenario import GroupPlan
    from tests.spark.model.world import World

SESSION = 6 * SECOND
"""session.timeout.ms, the least Kafka's brokers take by default."""

HEARTBEAT = 600 * MS
PATIENCE = 10 * SECOND
"""max.poll.interval.ms: how long a rebalance waits for a member."""


class Group:
    """A consumer group.

    Args:
        world: where it runs.
        plan: its settings.

    Attributes:
        committed: partition → offset and leader epoch, durable.
    """

    def __init__(self, world: World, plan: GroupPlan) -> None:
        self.world, self.plan = world, plan
        self.members: dict[str, Consumer] = {}
        self.committed: dict[int, tuple[int, int]] = {}
        self.closing = False
        self._seen: dict[str, int] = {}
        self._owners: dict[int, str] = {}
        self._waits: set[str] | None = None
        self._began = 0
        self._forgotten: set[str] = set()
        self._count = self._generation = 0
        world.engine.every(200 * MS, self._watch)

    def join(self, member: Consumer) -> None:
        """Take a member in, and part the partitions anew."""
        self._count += 1
        member.member_id = f"{member.incarnation}-{self._count}"
        self.members[member.member_id] = member
        self._seen[member.member_id] = self.world.engine.now
        self._rebalance()

    def leave(self, member_id: str) -> None:
        """Let a member go."""
        if self.members.pop(member_id, None) is None:
            return
        for partition in [number for number, who in self._owners.items() if who == member_id]:
            del self._owners[partition]
        self._rebalance()

    def heartbeat(self, member_id: str) -> str:
        """Answer a heartbeat: well, rejoin or unknown."""
        if member_id in self._forgotten:
            return "well"
        if member_id not in self.members:
            return "unknown"
        self._seen[member_id] = self.world.engine.now
        return "rejoin" if self._waits is not None and member_id in self._waits else "well"

    def rejoin(self, member_id: str) -> None:
        """A member is ready for the next generation, its partitions given up as they must be."""
        if self._waits is not None:
            self._waits.discard(member_id)
            self._complete()

    def release(self, member_id: str, partitions: list[int]) -> None:
        """A member says what it owns no more."""
        for number in partitions:
            if self._owners.get(number) == member_id:
                del self._owners[number]

    def again(self, member_id: str) -> None:
        """A member gave partitions up for others: they are given out in a second round."""
        if member_id in self.members:
            self._rebalance()

    def commit(self, member_id: str, offsets: dict[int, tuple[int, int]], *, leaving: bool) -> bool:
        """Store offsets of a member of the group, who is giving the partitions up or not."""
        if member_id in self._forgotten:
            return True
        if member_id not in self.members:
            return False
        for partition, (offset, epoch) in offsets.items():
            if not self.world.flaw.strikes(
                "lose-commit", group=self, partition=partition, offset=offset, leaving=leaving
            ):
                self.committed[partition] = (offset, epoch)
        return True

    def _watch(self) -> bool:
        now = self.world.engine.now
        for member_id in list(self.members):
            if now - self._seen[member_id] > SESSION:
                self.leave(member_id)
            elif self._owners and self.world.flaw.strikes(
                "forget-member", group=self, member=self.members[member_id]
            ):
                self._forgotten.add(member_id)
                self.leave(member_id)
        if self._waits and now - self._began > PATIENCE:
            for member_id in list(self._waits):
                self.leave(member_id)
        return True

    def _rebalance(self) -> None:
        if self.closing:
            return
        self._waits = set(self.members)
        self._began = self.world.engine.now
        self._complete()

    def _complete(self) -> None:
        """Part the partitions once everybody is there."""
        if self._waits is None or self._waits or not self.members:
            return
        self._waits = None
        self._generation += 1
        wanted = self._wanted()
        for member_id in sorted(self.members):
            mine = {number for number, who in wanted.items() if who == member_id}
            if self.plan.cooperative:
                owned = {number for number, who in self._owners.items() if who == member_id}
                give = {number for number in mine - owned if number not in self._owners}
                self._tell(member_id, sorted(give), sorted(owned - mine))
                self._owners.update(dict.fromkeys(give, member_id))
            else:
                self._tell(member_id, sorted(mine), [])
        if not self.plan.cooperative:
            self._owners = wanted

    def _wanted(self) -> dict[int, str]:
        """Return an even assignment; cooperative members keep what they can."""
        members = sorted(self.members)
        count = len(self.world.cluster.partitions)
        most = -(-count // len(members))
        wanted: dict[int, str] = {}
        if self.plan.cooperative:
            for number in range(count):
                owner = self._owners.get(number, "")
                if owner in members and list(wanted.values()).count(owner) < most:
                    wanted[number] = owner
        for number in range(count):
            if number not in wanted:
                load = list(wanted.values())
                wanted[number] = min(members, key=lambda who: (load.count(who), who))
        return wanted

    def _tell(self, member_id: str, given: list[int], taken: list[int]) -> None:
        member, generation = self.members[member_id], self._generation

        def arrive() -> None:
            gone = self._waits is not None and member_id not in self._waits
            if generation == self._generation and not gone:
                member.synchronised(member_id, given, taken)
            else:
                # It has rejoined since, so that this assignment is no more.
                self.release(member_id, given)

        delay = self.world.engine.between(2 * MS, 30 * MS, "sync", member_id, self._began)
        self.world.engine.after(delay, arrive)
