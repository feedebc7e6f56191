"""A position: topic, partition and offset as one 64-bit integer.

Comparing, grouping and joining one long costs a fraction of a string and two numbers, and the
order of positions is the order (topic, partition, offset).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import Column

    from krt_contract.plan import Plan

OFFSET_BITS = 40
"""Offsets up to 1.1e12: ten years of 3 000 records a second in one partition."""

PARTITION_BITS = 16
"""Partitions up to 65 535."""

MAX_TOPICS = 127
"""Topic ids take the 7 bits that are left of a positive long."""

FEW_TOPICS = 8
"""Topics that are distinguished by one comparison each; more by a search in a list, since long
expressions take long to plan."""

_OFFSET_MASK = (1 << OFFSET_BITS) - 1
_PARTITION_MASK = (1 << PARTITION_BITS) - 1


@dataclass(frozen=True, slots=True)
class Positions:
    """The encoding for the topics of one run.

    Attributes:
        topics: topic names in the order of their ids.
    """

    topics: tuple[str, ...]

    @classmethod
    def of(cls, run: Plan) -> Positions:
        """Return the encoding of a run's topics, in alphabetical order.

        Raises:
            ValueError: more topics than can be distinguished.
        """
        topics = tuple(sorted(topic.name for topic in run.topics))
        if len(topics) > MAX_TOPICS:
            raise ValueError(f"{len(topics)} topics; at most {MAX_TOPICS} can be scored at once")
        return cls(topics)

    def tp(self, topic: str, partition: int) -> int:
        """Return the topic-partition id.

        Raises:
            ValueError: the topic is not of the run.
        """
        return (self.topics.index(topic) << PARTITION_BITS) | partition

    def known(self, topic: str) -> bool:
        """Whether the topic is of the run."""
        return topic in self.topics

    def name(self, tp: int) -> tuple[str, int]:
        """Return topic and partition of a topic-partition id."""
        return self.topics[tp >> PARTITION_BITS], tp & _PARTITION_MASK

    def tp_column(self, topic: str = "topic", partition: str = "partition") -> Column:
        """Return the topic-partition id of a row; null for a topic that is not of the run."""
        identifier: Column = sf.lit(None).cast("long")
        if len(self.topics) > FEW_TOPICS:
            index = sf.array_position(self._names(), sf.col(topic)).cast("long") - 1
            identifier = sf.when(index >= 0, sf.shiftleft(index, PARTITION_BITS))
        else:
            for number in reversed(range(len(self.topics))):
                identifier = sf.when(
                    sf.col(topic) == self.topics[number],
                    sf.lit(number << PARTITION_BITS).cast("long"),
                ).otherwise(identifier)
        return identifier.bitwiseOR(sf.col(partition).cast("long"))

    def column(self) -> Column:
        """Return the position of a row with topic, partition and offset; null where one is."""
        return sf.shiftleft(self.tp_column(), OFFSET_BITS).bitwiseOR(sf.col("offset"))

    def topic_column(self, tp: Column) -> Column:
        """Return the topic of a topic-partition id."""
        return sf.get(self._names(), sf.shiftright(tp, PARTITION_BITS).cast("int"))

    def _names(self) -> Column:
        """Return the names of the topics as an array; of many as one text, quick to plan."""
        if len(self.topics) > FEW_TOPICS:
            return sf.split(sf.lit("\n".join(self.topics)), "\n")
        return sf.array(*[sf.lit(topic) for topic in self.topics])


def tp_of(position: Column) -> Column:
    """Return the topic-partition id of a position."""
    return sf.shiftright(position, OFFSET_BITS)


def offset_of(position: Column) -> Column:
    """Return the offset of a position."""
    return position.bitwiseAND(sf.lit(_OFFSET_MASK))


def partition_of(tp: Column) -> Column:
    """Return the partition of a topic-partition id."""
    return tp.bitwiseAND(sf.lit(_PARTITION_MASK)).cast("int")
