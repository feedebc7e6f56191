"""Owning partitions: where each one starts, and how it is given up."""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, TopicPartition

from krt_contract.outcomes import ConsumerEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krt_traffic.consumer.event_buffer import Journal
    from krt_traffic.consumer.positions import Positions

log = logging.getLogger(__name__)

CALL_SECONDS = 5.0
"""How long one question to a broker may take before orders are looked at again."""

PAUSE_SECONDS = 0.2
"""Until a question is asked again: some are refused at once, and would be thousands of times."""

LEAVE_SECONDS = 5.0
"""How long callbacks are served until the client has left its group. No broker has to answer for
that, so it takes milliseconds; this is half of what a pod is granted to end (TRAFFIC_GRACE)."""

LEAVE_POLL_SECONDS = 0.05
"""How long one look for callbacks takes: so long a member that has left may wait to close."""

TRUNCATED_AT = re.compile(r"broker end offset is (\d+)")
"""How the client words where the log parted from what was read (rdkafka_offset.c)."""


class Assignment:
    """Answers the client's rebalance callbacks.

    Args:
        journal: where ownership is noted.
        commits: positions and commits of what is owned.
        cooperative: whether partitions come and go one by one.
        given_up: waits so many seconds for the word to stop asking brokers that do not answer, and
            returns whether it came.

    Attributes:
        client: the consumer; set before it subscribes.
        changes: how often ownership changed.
        ends: owned partition → end the client reported with nothing handed out after it.
        closing: whether the client is told to leave its group, and takes no partition any more.
    """

    client: Consumer

    def __init__(
        self,
        journal: Journal,
        commits: Positions,
        *,
        cooperative: bool,
        given_up: Callable[[float], bool],
    ) -> None:
        self.changes = 0
        self.closing = False
        self.ends: dict[tuple[str, int], int] = {}
        self._journal, self._commits = journal, commits
        self._cooperative, self._given_up = cooperative, given_up
        self._broken: dict[tuple[str, int], str] = {}

    def leave(self) -> None:
        """Leave the group, giving up what is owned, and close the client.

        Not by ``close()`` alone: while a rebalance is under way it may wait for ever, for its
        thread that ends drops the callback's answer (librdkafka issue 4884). So the member leaves
        first; what ``poll`` hands out until then is dropped, as neither delivered nor processed.
        """
        self.closing = True
        until = time.monotonic() + LEAVE_SECONDS
        try:
            self.client.unsubscribe()
            # The client forgets its member id as it leaves, with nothing owned and nothing asked.
            while self.client.memberid() and time.monotonic() < until:
                self.client.poll(LEAVE_POLL_SECONDS)
        except KafkaException as exception:
            log.warning("closed without leaving the group first: %s", exception)
        self.client.close()

    def assigned(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """Seek to the committed offset, or else to the log's start, and take the partitions."""
        if self.closing:
            # What was on its way when the client was told to leave. It waits for an answer, takes
            # any for "none", and has no connection left to ask the group for offsets.
            self._take(client, partitions)
            return
        self.changes += 1
        starts: list[TopicPartition] = []
        for item in self._committed(client, partitions):
            start = item
            committed = item.offset if item.offset >= 0 else None
            if committed is None:
                start = TopicPartition(item.topic, item.partition, self._log_start(client, item))
            starts.append(start)
            place = (item.topic, item.partition)
            self._commits.own(place, start.offset, committed, start.leader_epoch)
        self._take(client, starts)
        member = client.memberid()
        for item in starts:
            self._journal.event(
                ConsumerEvent.ASSIGNED, item.topic, item.partition, item.offset, member_id=member
            )
        if not starts:
            self._journal.event(ConsumerEvent.ASSIGNED, member_id=member)

    def _take(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        if self._cooperative:
            client.incremental_assign(partitions)
        else:
            client.assign(partitions)

    def revoked(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """Commit the positions and give the partitions up."""
        self._commits.settle([(item.topic, item.partition) for item in partitions])
        self._give_up(client, partitions, ConsumerEvent.REVOKED)

    def lost(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """Give up partitions that already belong to somebody else; nothing may be committed."""
        self._commits.lose([(item.topic, item.partition) for item in partitions])
        self._give_up(client, partitions, ConsumerEvent.LOST)

    def seek(self, partition: tuple[str, int], target: int) -> None:
        """Go on at ``target`` on a partition that is owned; what was fetched beyond is dropped."""
        try:
            self.client.seek(TopicPartition(*partition, target))
        except KafkaException as exception:
            log.info("%s-%d: assigned anew, since seeking failed: %s", *partition, exception)
            self._restart(partition, target)
        self.ends.pop(partition, None)

    def end_reached(self, partition: tuple[str, int], offset: int) -> bool:
        """Note the end of a partition; True for the first one since it was owned."""
        first = partition not in self.ends
        self.ends[partition] = offset
        return first

    def broken(self, partition: tuple[str, int], reason: str) -> None:
        """Take that the client has no valid position on a partition any more."""
        self._broken[partition] = reason
        self.mend()

    def mend(self) -> None:
        """Go on where a position was lost: where the log parted, or at its nearest end."""
        for partition, reason in list(self._broken.items()):
            if partition in self._commits.positions and not self._reset(partition, reason):
                continue
            del self._broken[partition]

    def _reset(self, partition: tuple[str, int], reason: str) -> bool:
        position = self._commits.positions[partition]
        try:
            if found := TRUNCATED_AT.search(reason):
                target = int(found.group(1))
            else:
                low, high = self.client.get_watermark_offsets(
                    TopicPartition(*partition), timeout=CALL_SECONDS, cached=False
                )
                target = min(max(position, low), high)
            self._restart(partition, target)
        except KafkaException as exception:
            log.warning("%s-%d: no new position yet: %s", *partition, exception)
            return False
        self._commits.positions[partition] = target
        self._commits.epochs.pop(partition, None)
        self.ends.pop(partition, None)
        self._journal.event(ConsumerEvent.RESET, *partition, target, detail=reason)
        return True

    def _restart(self, partition: tuple[str, int], target: int) -> None:
        # A partition whose reset policy is "error" stops fetching, and seek() then refuses it
        # (_STATE): only assigning it anew starts it again.
        again = TopicPartition(*partition, target)
        if self._cooperative:
            self.client.incremental_unassign([again])
            self.client.incremental_assign([again])
            return
        others = dict(self._commits.positions)
        others.pop(partition, None)
        self.client.assign([*self._commits.places(others), again])

    def _give_up(
        self, client: Consumer, partitions: list[TopicPartition], event: ConsumerEvent
    ) -> None:
        self.changes += 1
        owned = [(item.topic, item.partition) for item in partitions]
        member = client.memberid()
        for partition in owned:
            position = self._commits.positions.get(partition)
            self._journal.event(event, *partition, position, member_id=member)
            self.ends.pop(partition, None)
            self._broken.pop(partition, None)
        self._commits.disown(owned)
        if self._cooperative:
            client.incremental_unassign(partitions)
        else:
            client.unassign()

    def _tries(self) -> Iterator[None]:
        """Count the times a question may be asked, with pauses, until the word to stop comes."""
        pause = 0.0
        while not self._given_up(pause):
            yield
            pause = PAUSE_SECONDS

    def _committed(
        self, client: Consumer, partitions: list[TopicPartition]
    ) -> list[TopicPartition]:
        if not partitions:
            return []
        for _ in self._tries():
            try:
                answered = client.committed(partitions, timeout=CALL_SECONDS)
            except KafkaException as exception:
                log.warning("the group's offsets are not to be had yet: %s", exception)
                continue
            if not any(item.error for item in answered):
                return answered
        return [TopicPartition(item.topic, item.partition, OFFSET_INVALID) for item in partitions]

    def _log_start(self, client: Consumer, item: TopicPartition) -> int:
        for _ in self._tries():
            try:
                low, _ = client.get_watermark_offsets(item, timeout=CALL_SECONDS, cached=False)
            except KafkaException as exception:
                log.warning("%s-%d: log start unknown: %s", item.topic, item.partition, exception)
                continue
            return int(low)
        return 0
