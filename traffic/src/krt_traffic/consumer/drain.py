"""Reading to the agreed end, as a group: no member leaves while another still has work."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, TopicPartition

from krt_traffic.clock import mono

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from krt_traffic.consumer.assignment import Assignment
    from krt_traffic.consumer.positions import Partition, Positions

log = logging.getLogger(__name__)

ASK_MICROS = 500_000
"""Microseconds between two requests for the group's committed offsets."""

CALL_SECONDS = 2.0
"""How long one of these requests may take; reading goes on afterwards."""


class Drain:
    """Knows when this member may leave.

    It may when every partition it owns is read to its end *and* the group's committed offsets
    have reached the end of every partition of the group's topics. Until then it stays in the
    group: leaving would rebalance partitions under members that still read them, and a partition
    whose owner died would find no other.

    Args:
        client: the consumer.
        positions: positions and commits of the owned partitions.
        assignment: the ends the client reported.
        ends: partition → offset to read up to (exclusive), of all the group's partitions.
        seconds: how long to try.
    """

    def __init__(
        self,
        client: Consumer,
        positions: Positions,
        assignment: Assignment,
        ends: dict[Partition, int],
        seconds: float,
    ) -> None:
        self._client, self._positions, self._assignment = client, positions, assignment
        self._ends = ends
        self._deadline = mono() + int(seconds * 1e6)
        self._ask_at = 0
        self._committed: dict[Partition, int] = {}

    @property
    def overdue(self) -> bool:
        """Whether the time is over."""
        return mono() >= self._deadline

    def done(self) -> bool:
        """Return whether all members of the group have reached the end."""
        behind = False
        for partition, position in self._positions.positions.items():
            # Transaction markers are passed, not read: only the end of the partition shows it.
            reached = max(position, self._assignment.ends.get(partition, position))
            self._positions.positions[partition] = reached
            behind = behind or reached < self._ends.get(partition, 0)
        if behind or not self._positions.clean or mono() < self._ask_at:
            return False
        self._ask_at = mono() + ASK_MICROS
        return self._group_done()

    def reached(self) -> dict[Partition, int]:
        """Return where the group stands on every partition of its topics, once it is done.

        Not only on the partitions that this member owns: it may have read them to their ends and
        given them up since, and nobody owns a partition while the group rebalances.
        """
        return self._committed | self._positions.positions

    def behind(self) -> str:
        """Return which partitions' commits are short of the end, as text for people."""
        return ", ".join(
            f"{topic}-{partition} at {self._committed.get((topic, partition), 'nothing')} of {end}"
            for (topic, partition), end in sorted(self._ends.items())
            if self._committed.get((topic, partition), -1) < end
        )

    def _group_done(self) -> bool:
        partitions = [TopicPartition(*partition) for partition in self._ends]
        try:
            answer = self._client.committed(partitions, timeout=CALL_SECONDS)
        except KafkaException as exception:
            log.warning("committed offsets not available yet, asking again: %s", exception)
            return False
        self._committed = {
            (item.topic, item.partition): item.offset for item in answer if not item.error
        }
        return all(
            self._committed.get(partition, -1) >= end for partition, end in self._ends.items()
        )
