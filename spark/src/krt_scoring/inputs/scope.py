"""Which part of the evidence a reason is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.inputs.evidence import Dimension

if TYPE_CHECKING:
    from krt_scoring.inputs.evidence import Evidence

Partition = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """A part of the evidence; what is empty is not narrowed down.

    Attributes:
        tables: tables of the bundle.
        partitions: what lies in these partitions.
        groups: what was recorded of these consumer groups.
        incarnations: what was recorded of these producer incarnations, by pod uid.
    """

    tables: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    groups: tuple[str, ...] = ()
    incarnations: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether it is narrower than all of the evidence."""
        return bool(self.tables or self.partitions or self.groups or self.incarnations)

    @property
    def dimensions(self) -> frozenset[Dimension]:
        """What the scope is narrowed down by, its tables apart."""
        named = {
            Dimension.PARTITION: self.partitions,
            Dimension.GROUP: self.groups,
            Dimension.INCARNATION: self.incarnations,
        }
        return frozenset(dimension for dimension, values in named.items() if values)

    def depends_on_log(self, evidence: Evidence) -> bool:
        """Whether it concerns an anomaly only where the log of a partition was not read."""
        tables = frozenset(self.tables)
        return bool(tables & evidence.unread) and not tables & evidence.tables

    def covers(self, evidence: Evidence) -> bool:
        """Whether every finding of an anomaly with this evidence rests on it.

        Args:
            evidence: of an anomaly that reads the scope's tables.
        """
        return not self.dimensions & evidence.by and not self.depends_on_log(evidence)

    def as_dict(self) -> dict[str, list[str]]:
        """Return the scope as the scorecard holds it; partitions as Kafka writes them."""
        named = {
            "tables": self.tables,
            "partitions": tuple(f"{topic}-{number}" for topic, number in self.partitions),
            "groups": self.groups,
            "incarnations": self.incarnations,
        }
        return {name: list(values) for name, values in named.items() if values}


EVERYTHING = Scope()
"""All of the evidence."""
