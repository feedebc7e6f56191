"""Records made of records: sends whose key and partition follow from those of their input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from krt_traffic.sending.records import Records

if TYPE_CHECKING:
    from confluent_kafka import Message

    from krt_contract.clients import ProducerSpec
    from krt_traffic.sending.records import Route


class DerivedRecords(Records):
    """The sends of one incarnation, one for each record delivered to it.

    The key is the input's, the partition the input's modulo those of the output topic: what is
    in order for a key stays in order. A send is due when its input was delivered.

    Args:
        plan: how the output is written.
        member: consumer identity, which is also the producer's.
        incarnation: pod uid.
    """

    def __init__(self, plan: ProducerSpec, member: str, incarnation: str) -> None:
        super().__init__(plan, member, incarnation)
        self._partitions = plan.partitions
        self._routed: dict[int, Route] = {}

    @property
    def partitions(self) -> list[int]:
        """All partitions of the output topic."""
        return list(range(self._partitions))

    def add(self, message: Message, partition: int) -> int:
        """Take a record of an input partition and return the seq of its output, sent next."""
        seq, key = self.attempted, message.key()
        text = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
        self._routed[seq] = (text, partition % self._partitions)
        return seq

    def next_routes(self, count: int) -> list[Route]:
        """Return the keys of their inputs, and the partitions that follow from their inputs'."""
        return [self._routed[seq] for seq in range(self.attempted, self.attempted + count)]

    def routes(self, seqs: pa.Int64Array) -> tuple[pa.StringArray, pa.Int32Array]:
        """Return the keys and the partitions of sends."""
        routes = [self._routed[seq] for seq in seqs.to_pylist()]
        return (
            pa.array([key for key, _ in routes], pa.string()),
            pa.array([partition for _, partition in routes], pa.int32()),
        )

    def snapshot(self) -> tuple[pa.Table, pa.Table]:
        """Return the sends done since the last call, and all others as unknown so far."""
        done, rest = super().snapshot()
        for seq in done["seq"].to_pylist():
            del self._routed[seq]
        return done, rest
