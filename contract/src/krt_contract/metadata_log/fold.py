"""Folds the metadata log: from its records to the events of partitions, brokers and controller.

A change record says only what changed, and holds neither leader epoch nor partition epoch: both
are counted. The records of a metadata transaction take effect when it ends, and never where it is
aborted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.metadata import HistorySource
from krt_contract.metadata_log.partition import PartitionState
from krt_contract.metadata_log.record import LogRecord, RecordType
from krt_contract.timeline import Event, EventName, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FROM = str(HistorySource.METADATA_LOG)
"""The value of ``from`` in the detail of each event."""

CLEARED: dict[str, Any] = {"eligibleLeaderReplicas": [], "lastKnownElr": []}
"""What ``CLEAR_ELR_RECORD`` changes of a partition that has either."""

Key = tuple[str, int]
"""Topic id and partition."""


@dataclass(slots=True)
class Fold:
    """The cluster after the records that it was given, in order of offset.

    Attributes:
        topics: topic id → name.
        partitions: (topic id, partition) → its state.
        features: finalized feature → its level.
    """

    topics: dict[str, str] = field(default_factory=dict)
    partitions: dict[Key, PartitionState] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    _transaction: list[LogRecord] | None = None

    def apply(self, record: LogRecord) -> list[Event]:
        """Take a record, and return the events that it shows; their ``mono`` is 0."""
        if record.type == RecordType.BEGIN_TRANSACTION:
            self._transaction = []
            return []
        if record.type == RecordType.ABORT_TRANSACTION:
            self._transaction = None
            return []
        if record.type == RecordType.END_TRANSACTION:
            ended, self._transaction = self._transaction or [], None
            return [event for item in ended for event in self._take(item)]
        if self._transaction is not None and record.type != RecordType.LEADER_CHANGE:
            self._transaction.append(record)
            return []
        return list(self._take(record))

    def states(self) -> dict[str, PartitionState]:
        """Return partition as Kafka writes it, ``foo-0`` → its state."""
        return {
            f"{self.topics[topic]}-{number}": state
            for (topic, number), state in sorted(self.partitions.items())
        }

    def _take(self, record: LogRecord) -> Iterator[Event]:
        taker = _TAKERS.get(record.type)
        return taker(self, record) if taker else iter(())

    def _topic(self, record: LogRecord) -> Iterator[Event]:
        self.topics[str(record.data["topicId"])] = str(record.data["name"])
        yield from ()

    def _remove_topic(self, record: LogRecord) -> Iterator[Event]:
        topic = str(record.data["topicId"])
        self.topics.pop(topic, None)
        self.partitions = {key: value for key, value in self.partitions.items() if key[0] != topic}
        yield from ()

    def _create(self, record: LogRecord) -> Iterator[Event]:
        yield from self._set(_key(record), PartitionState.created(record.data), record)

    def _change(self, record: LogRecord) -> Iterator[Event]:
        before = self.partitions.get(_key(record))
        # A log that is read from its middle on changes what it did not create.
        if before is not None:
            yield from self._set(_key(record), before.changed(record.data), record)

    def _clear_elr(self, record: LogRecord) -> Iterator[Event]:
        only = record.data.get("topicName")
        for key, state in list(self.partitions.items()):
            if only in {None, "", self.topics.get(key[0])} and (state.elr or state.last_known_elr):
                yield from self._set(key, state.changed(CLEARED), record)

    def _set(self, key: Key, state: PartitionState, record: LogRecord) -> Iterator[Event]:
        self.partitions[key] = state
        topic = self.topics.get(key[0])
        if topic is not None:
            detail = state.detail() | {"controller_epoch": record.epoch}
            yield _event(record, Source.PARTITION, EventName.STATE, f"{topic}-{key[1]}", detail)

    def _register(self, record: LogRecord) -> Iterator[Event]:
        data = record.data
        endpoints = data.get("endPoints") or [{}]
        detail = {
            "epoch": int(data["brokerEpoch"]),
            "host": endpoints[0].get("host"),
            "rack": data.get("rack"),
            "fenced": bool(data.get("fenced", True)),
        }
        yield _broker(record, EventName.REGISTERED, data["brokerId"], detail)

    def _unregister(self, record: LogRecord) -> Iterator[Event]:
        yield _epoch_event(record, EventName.UNREGISTERED, "brokerId", "brokerEpoch")

    def _registration_change(self, record: LogRecord) -> Iterator[Event]:
        changes = (
            (int(record.data.get("inControlledShutdown", 0)) > 0, EventName.SHUTTING_DOWN),
            (int(record.data.get("fenced", 0)) > 0, EventName.FENCED),
            (int(record.data.get("fenced", 0)) < 0, EventName.UNFENCED),
        )
        for changed, name in changes:
            if changed:
                yield _epoch_event(record, name, "brokerId", "brokerEpoch")

    def _fence(self, record: LogRecord) -> Iterator[Event]:
        yield _epoch_event(record, EventName.FENCED, "id", "epoch")

    def _unfence(self, record: LogRecord) -> Iterator[Event]:
        yield _epoch_event(record, EventName.UNFENCED, "id", "epoch")

    def _feature_level(self, record: LogRecord) -> Iterator[Event]:
        name, level = str(record.data["name"]), int(record.data["featureLevel"])
        self.features.pop(name, None)
        # Level 0 is how Kafka writes that a feature is off.
        if level:
            self.features[name] = level
        yield from ()

    def _leader_change(self, record: LogRecord) -> Iterator[Event]:
        detail = {"epoch": record.epoch}
        leader = str(record.data["leaderId"])
        yield _event(record, Source.CONTROLLER, EventName.ELECTED, leader, detail)


_TAKERS: dict[str, Callable[[Fold, LogRecord], Iterator[Event]]] = {
    RecordType.TOPIC: Fold._topic,  # noqa: SLF001 (the class' own table of methods)
    RecordType.REMOVE_TOPIC: Fold._remove_topic,  # noqa: SLF001
    RecordType.PARTITION: Fold._create,  # noqa: SLF001
    RecordType.PARTITION_CHANGE: Fold._change,  # noqa: SLF001
    RecordType.CLEAR_ELR: Fold._clear_elr,  # noqa: SLF001
    RecordType.REGISTER_BROKER: Fold._register,  # noqa: SLF001
    RecordType.UNREGISTER_BROKER: Fold._unregister,  # noqa: SLF001
    RecordType.BROKER_REGISTRATION_CHANGE: Fold._registration_change,  # noqa: SLF001
    RecordType.FENCE_BROKER: Fold._fence,  # noqa: SLF001
    RecordType.UNFENCE_BROKER: Fold._unfence,  # noqa: SLF001
    RecordType.FEATURE_LEVEL: Fold._feature_level,  # noqa: SLF001
    RecordType.LEADER_CHANGE: Fold._leader_change,  # noqa: SLF001
}


def events_of(records: Iterable[LogRecord]) -> tuple[Event, ...]:
    """Return the events of a whole log, in order of offset."""
    fold = Fold()
    return tuple(event for record in records for event in fold.apply(record))


def is_folded(event: Event) -> bool:
    """Return whether an event comes from the metadata log, so that its records tell it again."""
    return event.detail.get("from") == FROM and "offset" in event.detail


def _key(record: LogRecord) -> Key:
    return str(record.data["topicId"]), int(record.data["partitionId"])


def _broker(record: LogRecord, name: EventName, broker: Any, detail: dict[str, Any]) -> Event:
    return _event(record, Source.BROKER, name, str(broker), detail)


def _epoch_event(record: LogRecord, name: EventName, broker: str, epoch: str) -> Event:
    detail = {"epoch": int(record.data[epoch])}
    return _broker(record, name, record.data[broker], detail)


def _event(
    record: LogRecord, source: Source, name: EventName, subject: str, detail: dict[str, Any]
) -> Event:
    marks = {"offset": record.offset, "from": FROM}
    return Event(record.at, 0, source, name, subject, detail | marks)
