"""The topics' records by a Kafka client of the driver, for as long as they are few.

Spark's connector starts a consumer in each executor, after the executors themselves: seconds for
what the driver reads in less than one, while its JVM starts. Both give the same rows.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from krt_contract import payload
from krt_contract.cluster_security import security_of
from krt_contract.errors import ContractError
from krt_contract.kafka_login import Login
from krt_contract.kafka_security import mounted_folder
from krt_contract.outcomes import LogState
from krt_contract.schemas import LOG
from krt_scoring.errors import TopicReadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from confluent_kafka import Message

    from krt_contract.payload import Payload
    from krt_contract.plan import Plan
    from krt_scoring.inputs.topics import PartitionBound

BATCH: Final = 100
"""Records that are asked for at a time: of the largest, 100 MB."""

PREFETCH_KIB: Final = 16 * 1024
"""Memory for records that are fetched ahead; the client's own default is 64 MiB."""

WAIT_S: Final = 0.5
"""Longest wait in seconds for records that are not there yet."""

SILENCE_S: Final = 30.0
"""Seconds without a record after which a partition is given up, as Spark's connector does."""

MS: Final = 1_000
"""Microseconds of a millisecond."""

LONGEST: Final = 2**63 - 1
"""Highest number that a column of the table holds."""

CHUNK: Final = 50_000
"""Records that are turned into columns at a time: as objects of Python they take 20 MB."""

Partition = tuple[str, int]
"""A topic and the number of its partition."""


def read(run: Plan, bounds: Sequence[PartitionBound]) -> pa.Table:
    """Return the records between their bounds, with the columns of ``log/``.

    Args:
        run: the plan.
        bounds: of partitions that can be read.

    Raises:
        TopicReadError: they cannot be read to their ends.
    """
    stable = {(bound.topic, bound.partition): bound.last_stable for bound in bounds}
    committed: dict[Partition, set[int]] = {partition: set() for partition in stable}
    if run.transactional:
        for message in _messages(run, bounds, committed=True):
            committed[_partition(message)].add(_offset(message))
    transactional = run.transactional_identities
    found, columns = [], _Columns()
    for message in _messages(run, bounds, committed=False):
        value, state = payload.decode(message.value()), LogState.PLAIN
        if value is not None and value.producer in transactional:
            partition = _partition(message)
            state = _state(_offset(message), committed[partition], stable[partition])
        columns.add(_row(message, value, state))
        if columns.rows == CHUNK:
            found.append(columns.table())
            columns = _Columns()
    return pa.concat_tables([*found, columns.table()])


class _Columns:
    """Rows of ``log/`` as they are collected."""

    def __init__(self) -> None:
        self.rows = 0
        self._values: dict[str, list[Any]] = {name: [] for name in LOG.names}
        self._append = [self._values[name].append for name in LOG.names]

    def add(self, row: tuple[Any, ...]) -> None:
        self.rows += 1
        for append, cell in zip(self._append, row, strict=True):
            append(cell)

    def table(self) -> pa.Table:
        return pa.table(self._values, schema=LOG)


def _row(message: Message, value: Payload | None, state: LogState) -> tuple[Any, ...]:
    """Return a row in the order of the table's columns."""
    key = message.key()
    place = (
        *(*_partition(message), _offset(message)),
        key.decode("utf-8", "replace") if isinstance(key, bytes) else key,
    )
    rest = len(message.value() or b""), message.timestamp()[1] * MS, str(state)
    if value is None:
        return *place, None, None, None, None, False, *rest
    seq = value.seq if value.seq <= LONGEST else None
    names = value.run_uid, value.producer, value.producer_incarnation
    return *place, *names, seq, value.checksum_ok, *rest


def _state(offset: int, committed: set[int], stable: int) -> LogState:
    if offset in committed:
        return LogState.COMMITTED
    return LogState.OPEN if offset >= stable else LogState.ABORTED


def _partition(message: Message) -> Partition:
    return message.topic(), message.partition()  # type: ignore[return-value]


def _offset(message: Message) -> int:
    return message.offset()  # type: ignore[return-value]


def _messages(run: Plan, bounds: Sequence[PartitionBound], *, committed: bool) -> Iterator[Message]:
    """Yield the records of partitions, those of each in order, up to its end for such a reader."""
    unread = [bound for bound in bounds if bound.end(committed=committed) > bound.log_start]
    left = {(bound.topic, bound.partition): bound.end(committed=committed) for bound in unread}
    consumer = _client(run, "read_committed" if committed else "read_uncommitted")
    try:
        consumer.assign(
            [TopicPartition(bound.topic, bound.partition, bound.log_start) for bound in unread]
        )
        heard, trouble = time.monotonic(), ""
        while left:
            for message in consumer.consume(BATCH, WAIT_S):
                place, error = _partition(message), message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    trouble = _trouble(place, error)
                    continue
                if place not in left:
                    continue
                heard, offset = time.monotonic(), _offset(message)
                if error is None and offset < left[place]:
                    yield message
                    offset += 1
                # The client names the end behind markers of transactions, which are no records.
                if offset >= left[place]:
                    del left[place]
                    consumer.pause([TopicPartition(*place)])
            if time.monotonic() - heard > SILENCE_S:
                names = ", ".join(f"{topic}-{number}" for topic, number in sorted(left))
                raise TopicReadError(
                    f"no record of {names} came for {SILENCE_S:.0f} s although its end is not "
                    f"reached{trouble}; look at the brokers' logs"
                )
    except KafkaException as error:
        raise _unreadable(error) from error
    finally:
        consumer.close()


def _unreadable(error: KafkaException) -> TopicReadError:
    return TopicReadError(f"the topics cannot be read: {error.args[0].str()}")


def _trouble(place: Partition, error: KafkaError) -> str:
    """Return what to add to a message about silence.

    Raises:
        TopicReadError: the log no longer holds what was bounded, or must not be read.
    """
    if error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - no public name
        raise TopicReadError(
            f"partition {place[0]}-{place[1]} no longer holds the records of the run "
            f"({error.str()}): raise retention.ms or retention.bytes of the topic"
        )
    return f" ({error.str()})"


def _client(run: Plan, isolation: str) -> Consumer:
    try:
        login = Login.mounted(security_of(run), Path(mounted_folder()))
    except ContractError as error:
        raise TopicReadError(str(error)) from error
    settings = {
        "bootstrap.servers": run.bootstrap,
        **login.client_settings(),
        # Partitions are assigned by hand and nothing is committed: no right to the group is needed.
        "group.id": f"scoring-{run.uid}",
        "enable.auto.commit": False,
        "isolation.level": isolation,
        # A log that no longer holds what was bounded must fail, not shrink the evidence.
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "allow.auto.create.topics": False,
        "enable.metrics.push": False,
        "fetch.wait.max.ms": 10,
        "queued.max.messages.kbytes": PREFETCH_KIB,
        # From critical on: errors of partitions arrive as messages, too.
        "log_level": 2,
    }
    try:
        return Consumer(settings)
    except KafkaException as error:
        raise _unreadable(error) from error
