"""Owning partitions: taking them at their start offsets, and giving them up."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from krt_contract.outcomes import ConsumerEvent
from krt_traffic.consumer.generation import generation_of
from krt_traffic.consumer.lost_positions import LostPositions
from krt_traffic.consumer.start_offsets import StartOffsets

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.consumer.event_buffer import EventBuffer
    from krt_traffic.consumer.positions import Partition, Positions

log = logging.getLogger(__name__)

LEAVE_SECONDS = 5.0
"""How long callbacks are served until the client has left its group. No broker has to answer for
that, so it takes milliseconds; this is half of what a pod is granted to end (TRAFFIC_GRACE)."""

LEAVE_POLL_SECONDS = 0.05
"""How long one look for callbacks takes: so long a member that has left may wait to close."""


class Assignment:
    """Answers the client's rebalance callbacks.

    Args:
        buffer: where ownership is recorded.
        positions: positions and commits of the owned partitions.
        cooperative: whether partitions come and go one by one.
        aborted_within: waits that many seconds for the end of this incarnation, and returns
            whether it was asked for.
        begin: topic and partition → the first offset that can be the test's.

    Attributes:
        client: the consumer; set before it subscribes.
        changes: how often ownership changed.
        ends: owned partition → end the client reported with nothing delivered after it.
        closing: whether the client is leaving its group, and takes no partition any more.
    """

    client: Consumer

    def __init__(
        self,
        buffer: EventBuffer,
        positions: Positions,
        *,
        cooperative: bool,
        aborted_within: Callable[[float], bool],
        begin: Callable[[str, int], int],
    ) -> None:
        self.changes = 0
        self.closing = False
        self.ends: dict[Partition, int] = {}
        self._buffer, self._positions = buffer, positions
        self._cooperative = cooperative
        self._starts = StartOffsets(aborted_within, begin)
        self._lost_positions = LostPositions(positions, buffer, self._restart)

    def leave(self) -> None:
        """Leave the group, giving up all partitions, and close the client.

        Not by ``close()`` alone: while a rebalance is under way it may wait for ever, for its
        thread that ends drops the callback's answer (librdkafka issue 4884). So the member leaves
        first; what ``poll`` returns until then is dropped, as neither delivered nor processed.
        """
        self.closing = True
        until = time.monotonic() + LEAVE_SECONDS
        try:
            self.client.unsubscribe()
            # The client forgets its member id as it leaves, with no partition and no request left.
            # With the protocol of KIP-848 it made that id itself and keeps it, and nothing else
            # tells that no assignment is on its way: all of the time is waited.
            while self.client.memberid() and time.monotonic() < until:
                self.client.poll(LEAVE_POLL_SECONDS)
        except KafkaException as exception:
            log.warning("closing the client without leaving its group first: %s", exception)
        self.client.close()

    def assigned(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """Seek to the committed offset, or else to where the run began, and take the partitions."""
        if self.closing:
            # An assignment that was on its way when the client began to leave. It waits for an
            # answer, treats any as "none", and has no connection left to ask the group for offsets.
            self._take(client, partitions)
            return
        self.changes += 1
        self._buffer.generation = generation_of(client, self._buffer.group)
        starts: list[TopicPartition] = []
        for item in self._starts.committed(client, partitions):
            start = item
            committed = item.offset if item.offset >= 0 else None
            if committed is None:
                offset = self._starts.first(client, item)
                start = TopicPartition(item.topic, item.partition, offset)
            starts.append(start)
            partition = (item.topic, item.partition)
            self._positions.own(partition, start.offset, committed, start.leader_epoch)
        self._take(client, starts)
        member = client.memberid()
        for item in starts:
            self._buffer.event(
                ConsumerEvent.ASSIGNED, item.topic, item.partition, item.offset, member_id=member
            )
        if not starts:
            self._buffer.event(ConsumerEvent.ASSIGNED, member_id=member)

    def revoked(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """Commit the positions and give the partitions up."""
        self._positions.settle([(item.topic, item.partition) for item in partitions])
        self._release(client, partitions, ConsumerEvent.REVOKED)

    def lost(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        """Give up partitions that another member owns already; nothing may be committed."""
        self._positions.lose([(item.topic, item.partition) for item in partitions])
        self._release(client, partitions, ConsumerEvent.LOST)
        self._buffer.generation = None

    def seek(self, partition: Partition, target: int) -> None:
        """Go on at ``target`` on an owned partition; what was fetched beyond is dropped.

        Raises:
            KafkaException: the client can neither seek nor assign the partition again.
        """
        try:
            self.client.seek(TopicPartition(*partition, target))
        except KafkaException as exception:
            log.info("%s-%d: seek failed, assigning it again: %s", *partition, exception)
            self._restart(partition, target)
        self.ends.pop(partition, None)

    def end_reached(self, partition: Partition, offset: int) -> bool:
        """Take the end of a partition; True for the first one since it was owned."""
        first = partition not in self.ends
        self.ends[partition] = offset
        return first

    def position_lost(self, partition: Partition, reason: str) -> None:
        """Take that the client has no valid position on a partition any more."""
        self._lost_positions.add(partition, reason)
        self.restore_positions()

    def restore_positions(self) -> None:
        """Give partitions whose position was lost a new one, as far as brokers answer."""
        self._lost_positions.restore(self.client)

    def _take(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        if self._cooperative:
            client.incremental_assign(partitions)
        else:
            client.assign(partitions)

    def _restart(self, partition: Partition, target: int) -> None:
        # A partition whose reset policy is "error" stops fetching, and seek() then refuses it
        # (_STATE): only assigning it again starts it again.
        again = TopicPartition(*partition, target)
        if self._cooperative:
            self.client.incremental_unassign([again])
            self.client.incremental_assign([again])
        else:
            others = dict(self._positions.positions)
            others.pop(partition, None)
            self.client.assign([*self._positions.topic_partitions(others), again])
        self.ends.pop(partition, None)

    def _release(
        self, client: Consumer, partitions: list[TopicPartition], event: ConsumerEvent
    ) -> None:
        self.changes += 1
        owned = [(item.topic, item.partition) for item in partitions]
        member = client.memberid()
        for partition in owned:
            position = self._positions.positions.get(partition)
            self._buffer.event(event, *partition, position, member_id=member)
            self.ends.pop(partition, None)
            self._lost_positions.forget(partition)
        self._positions.disown(owned)
        if self._cooperative:
            client.incremental_unassign(partitions)
        else:
            client.unassign()
