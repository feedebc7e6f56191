"""Records of the metadata log that tests of contract, traffic and scoring share."""

from __future__ import annotations

from typing import Any

from krt_contract.metadata_log.record import LogRecord, RecordType

FOO = "Zm9vZm9vZm9vZm9vZm9vZg"
"""Topic id of foo."""


class Log:
    """A log that is written record by record; each record is a millisecond later."""

    def __init__(self, epoch: int = 1) -> None:
        self.epoch, self.at = epoch, 1_000_000
        self.records: list[LogRecord] = []

    def add(self, kind: str, **data: Any) -> LogRecord:
        record = LogRecord(len(self.records), self.at, self.epoch, kind, 0, data)
        self.records.append(record)
        self.at += 1000
        return record

    def elect(self, leader: int, epoch: int) -> LogRecord:
        self.epoch = epoch
        return self.add(RecordType.LEADER_CHANGE, leaderId=leader)

    def topic(self, *partitions: list[int]) -> None:
        """Create foo with these replicas, the first of which leads."""
        self.add(RecordType.TOPIC, name="foo", topicId=FOO)
        for number, replicas in enumerate(partitions):
            self.add(
                RecordType.PARTITION,
                partitionId=number,
                topicId=FOO,
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leaderEpoch=0,
                partitionEpoch=0,
            )

    def change(self, partition: int, **data: Any) -> LogRecord:
        return self.add(RecordType.PARTITION_CHANGE, partitionId=partition, topicId=FOO, **data)

    def broker(self, broker: int, epoch: int, **data: Any) -> LogRecord:
        return self.add(
            RecordType.BROKER_REGISTRATION_CHANGE, brokerId=broker, brokerEpoch=epoch, **data
        )
