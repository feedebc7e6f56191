"""Where an assigned partition starts: at the committed offset, or else where the run began."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import OFFSET_INVALID, KafkaException, TopicPartition

from krt_traffic.consumer.partition_bounds import CALL_SECONDS, partition_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from confluent_kafka import Consumer

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.2
"""Until a request is repeated: some are refused at once, and would be sent thousands of times."""


class StartOffsets:
    """Asks the brokers until they answer, or until this incarnation is to end.

    Args:
        aborted_within: waits that many seconds for the end of this incarnation, and returns
            whether it was asked for.
        begin: topic and partition → the first offset that can be the test's.
    """

    def __init__(
        self, aborted_within: Callable[[float], bool], begin: Callable[[str, int], int]
    ) -> None:
        self._aborted_within, self._begin = aborted_within, begin

    def committed(self, client: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the group's committed offsets; negative ones where there are none or no answer."""
        if not partitions:
            return []
        for _ in self._attempts():
            try:
                answer = client.committed(partitions, timeout=CALL_SECONDS)
            except KafkaException as exception:
                log.warning("committed offsets not available yet, asking again: %s", exception)
                continue
            if not any(item.error for item in answer):
                return answer
        return [TopicPartition(item.topic, item.partition, OFFSET_INVALID) for item in partitions]

    def first(self, client: Consumer, item: TopicPartition) -> int:
        """Return the first offset of a partition's log that can be the test's.

        Where no broker answered, as if the log still had all that was ever in it.
        """
        begin = self._begin(item.topic, item.partition)
        for _ in self._attempts():
            try:
                low, _ = partition_bounds(client, (item.topic, item.partition))
            except KafkaException as exception:
                partition = f"{item.topic}-{item.partition}"
                log.warning("%s: log start not available yet: %s", partition, exception)
                continue
            return max(low, begin)
        return begin

    def _attempts(self) -> Iterator[None]:
        pause = 0.0
        while not self._aborted_within(pause):
            yield
            pause = PAUSE_SECONDS
