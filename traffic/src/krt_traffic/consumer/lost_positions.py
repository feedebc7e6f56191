"""Partitions whose position the client lost: the log was truncated, or ends before it."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from krt_contract.outcomes import ConsumerEvent
from krt_traffic.consumer.partition_bounds import partition_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Consumer

    from krt_traffic.consumer.event_buffer import EventBuffer
    from krt_traffic.consumer.positions import Partition, Positions

log = logging.getLogger(__name__)

TRUNCATED_AT = re.compile(r"broker end offset is (\d+)")
"""The part of the client's error with the offset where the logs diverged (rdkafka_offset.c)."""


class LostPositions:
    """Gives such partitions a new position, and records each as the event ``reset``.

    Args:
        positions: of the owned partitions.
        buffer: where resets are recorded.
        restart: makes the client fetch a partition from an offset on.
    """

    def __init__(
        self,
        positions: Positions,
        buffer: EventBuffer,
        restart: Callable[[Partition, int], None],
    ) -> None:
        self._positions, self._buffer, self._restart = positions, buffer, restart
        self._reasons: dict[Partition, str] = {}

    def add(self, partition: Partition, reason: str) -> None:
        """Take a partition whose position was lost; ``reason`` is the client's error text."""
        self._reasons[partition] = reason

    def forget(self, partition: Partition) -> None:
        """Drop a partition that is no longer owned."""
        self._reasons.pop(partition, None)

    def restore(self, client: Consumer) -> None:
        """Go on where the log diverged, or else at its nearest end; later where that fails."""
        for partition, reason in list(self._reasons.items()):
            if partition in self._positions.positions and not self._reset(
                client, partition, reason
            ):
                continue
            del self._reasons[partition]

    def _reset(self, client: Consumer, partition: Partition, reason: str) -> bool:
        position = self._positions.positions[partition]
        try:
            if found := TRUNCATED_AT.search(reason):
                target = int(found.group(1))
            else:
                low, high = partition_bounds(client, partition)
                target = min(max(position, low), high)
            self._restart(partition, target)
        except KafkaException as exception:
            log.warning("%s-%d: no new position yet, trying again: %s", *partition, exception)
            return False
        self._positions.positions[partition] = target
        self._positions.epochs.pop(partition, None)
        self._buffer.event(ConsumerEvent.RESET, *partition, target, detail=reason)
        return True
