"""A member of a group: what it owns, hands out and commits, and its ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.spark.model.engine import MS
from tests.spark.model.group import HEARTBEAT

if TYPE_CHECKING:
    from tests.spark.model.group import Group
    from tests.spark.model.log import Entry
    from tests.spark.model.world import World

POLL = 150 * MS
FLUSH = 500 * MS
BATCH = 4
"""Records of a partition in one poll."""


class Consumer:
    """One incarnation.

    Args:
        world: where it runs.
        group: its group.
        name: identity, ``<name>-<replica>``.
        life: 0 for the first incarnation.

    Attributes:
        positions: owned partition → next offset to hand out.
        epochs: owned partition → leader epoch of the last record handed out.
        deliveries, events: its ledger, in its own order; cut at the last flush if it is killed.
    """

    def __init__(self, world: World, group: Group, name: str, life: int) -> None:
        self.world, self.group, self.name, self.life = world, group, name, life
        self.incarnation = f"{name}-{life}"
        self.member_id = ""
        self.alive, self.frozen = True, False
        self.positions: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        self.deliveries: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self._leader_epochs: dict[int, int] = {}
        self._saved: dict[int, int] = {}
        self._buffer: list[tuple[int, Entry]] = []
        self._late: list[tuple[str, list[int], list[int]]] = []
        self._durable = (0, 0)
        self._n = self._poll_number = 0
        engine = world.engine
        engine.after(engine.between(0, 300 * MS, "join", self.incarnation), self._join)
        engine.every(POLL, self._poll)
        engine.every(HEARTBEAT, self._beat)
        engine.every(FLUSH, self._flush)

    def _join(self) -> None:
        if self.alive:
            self.group.join(self)

    # Belonging to the group.
    def _beat(self) -> bool:
        if self.frozen or not self.alive or not self.member_id:
            return self.alive
        answer = self.group.heartbeat(self.member_id)
        if answer == "unknown":
            self._give_up(sorted(self.positions), "lost")
            self.group.join(self)
        elif answer == "rejoin":
            if not self.group.plan.cooperative:
                self._revoke(sorted(self.positions))
            self.group.rejoin(self.member_id)
        return self.alive

    def synchronised(self, member_id: str, given: list[int], taken: list[int]) -> None:
        """Take the assignment of a new generation."""
        if not self.alive or member_id != self.member_id or member_id not in self.group.members:
            return
        if self.frozen:
            self._late.append((member_id, given, taken))
            return
        if taken:
            self._revoke(taken)
            self.group.again(self.member_id)
        for number in given:
            offset, epoch = self.group.committed.get(number, (0, -1))
            back = self.world.flaw.strikes("rewind", consumer=self, partition=number, offset=offset)
            offset -= 2 if back else 0
            self.positions[number], self.epochs[number] = offset, epoch
            self._saved[number] = offset
            self._leader_epochs.pop(number, None)
            self._note("assigned", number, offset)
        if not given:
            self._note("assigned", None, None)

    def _revoke(self, partitions: list[int]) -> None:
        """Commit what is due and give partitions up."""
        self._durable = (len(self.deliveries), len(self.events))
        self._commit(
            {
                number: self.positions[number]
                for number in partitions
                if number in self.positions and self.positions[number] != self._saved.get(number)
            },
            leaving=True,
        )
        self._give_up(partitions, "revoked")

    def _give_up(self, partitions: list[int], event: str) -> None:
        self.group.release(self.member_id, partitions)
        for number in partitions:
            if number in self.positions:
                self._note(event, number, self.positions.pop(number))
        self._buffer = []

    # Reading.
    def _poll(self) -> bool:
        if not self.alive or self.frozen:
            return self.alive
        self._poll_number += 1
        buffered, self._buffer = self._buffer, []
        given = 0
        for number, entry in buffered:
            if number in self.positions and entry.offset == self.positions[number]:
                self._hand(number, entry, given)
                given += 1
        for number in sorted(self.positions):
            # All of it as it lies, where nothing is wrong.
            for entry in self.world.flaw.handing(self, number, self._fetch(number)):
                self._hand(number, entry, given)
                given += 1
        return True

    def _fetch(self, number: int) -> list[Entry]:
        """Ask the leader for the next records, once the position is known to lie in its log."""
        cluster = self.world.cluster
        partition = cluster.partitions[number]
        replica = partition.replicas.get(partition.leader)
        if replica is None or not replica.leads or not cluster.serves(partition.leader):
            return []
        if self._leader_epochs.get(number) != replica.knows:
            self._leader_epochs[number] = replica.knows
            end = replica.log.epoch_end(self.epochs[number])
            if self.epochs[number] >= 0 and self.positions[number] > end:
                self.positions[number] = end
                self._note("reset", number, end)
                return []
        reach = replica.high
        if self.world.flaw.strikes("read-above-high", consumer=self, partition=partition):
            reach = replica.log.end
        committed = self.group.plan.committed
        if committed:
            reach = replica.log.stable(reach)
        batch: list[Entry] = []
        for entry in replica.log.entries[self.positions[number] : reach]:
            if entry.record is None or len(batch) >= BATCH:
                continue
            hidden = committed and replica.log.state(entry) == "aborted"
            if not hidden or self.world.flaw.strikes("show-aborted", consumer=self, entry=entry):
                batch.append(entry)
        return batch

    def _hand(self, number: int, entry: Entry, place: int) -> None:
        now = self.world.engine.now
        self.positions[number] = max(self.positions[number], entry.offset + 1)
        self.epochs[number] = entry.epoch
        whole = entry.whole and not self.world.flaw.strikes("garble", consumer=self, entry=entry)
        self.deliveries.append(
            {
                "event_seq": self._next(),
                "poll": self._poll_number,
                "poll_index": place,
                "partition": number,
                "offset": entry.offset,
                "record": entry.record,
                "whole": whole,
                "at": now + place,
            }
        )

    # Committing, each time after the rows are durable.
    def _flush(self) -> bool:
        if not self.alive or self.frozen:
            return self.alive
        self._durable = (len(self.deliveries), len(self.events))
        due = {
            number: position
            for number, position in self.positions.items()
            if position != self._saved.get(number)
        }
        self._commit(due)
        return True

    def _commit(self, positions: dict[int, int], *, leaving: bool = False) -> None:
        if not positions:
            return
        ahead = {
            number: position
            + self.world.flaw.strikes(
                "commit-ahead", consumer=self, partition=number, leaving=leaving
            )
            for number, position in positions.items()
        }
        stored = self.group.commit(
            self.member_id,
            {key: (value, self.epochs[key]) for key, value in ahead.items()},
            leaving=leaving,
        )
        lost = (
            self.world.engine.draw("answer", self.incarnation, self._n) < self.world.scenario.mute
        )
        event = ("commit_unknown" if lost else "committed") if stored else "commit_failed"
        for number, position in ahead.items():
            self._note(event, number, position)
            if event == "committed":
                self._saved[number] = position

    def _note(self, event: str, partition: int | None = None, offset: int | None = None) -> None:
        self.events.append(
            {
                "event_seq": self._next(),
                "at": self.world.engine.now,
                "event": event,
                "partition": partition,
                "offset": offset,
                "member_id": self.member_id or None,
            }
        )

    def _next(self) -> int:
        """Return the next count of deliveries and events together, from 0 as clients count."""
        self._n += 1
        return self._n - 1

    # What befalls it.
    def freeze(self) -> None:
        """SIGSTOP, with what was fetched still to be handed out."""
        self.frozen = True
        self._buffer = [
            (number, entry) for number in sorted(self.positions) for entry in self._fetch(number)
        ]

    def thaw(self) -> None:
        """SIGCONT: the application goes on before the next heartbeat tells it anything."""
        self.frozen = False
        late, self._late = self._late, []
        for member_id, given, taken in late:
            self.synchronised(member_id, given, taken)

    def kill(self) -> None:
        """SIGKILL: what was not flushed is not in the ledger."""
        self.alive = False
        rows, events = self._durable
        del self.deliveries[rows:], self.events[events:]

    def close(self) -> None:
        """End in order: commit, give everything up, leave."""
        self._revoke(sorted(self.positions))
        self._note("closed")
        self.alive = False
        self.group.leave(self.member_id)

    def drain(self, end: dict[int, int]) -> None:
        """Say of every owned partition that it was read to its end."""
        for number in sorted(self.positions):
            self.positions[number] = end[number]
        self._flush()
        for number in sorted(self.positions):
            self._note("drained", number, self.positions[number])
