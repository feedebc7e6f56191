"""What a rule looks at: the history of a run and what its configuration allows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from krt_scoring.allowances import allowances as allowances_module
from krt_scoring.allowances.truncations import with_cuts
from krt_scoring.history import history as history_module
from krt_scoring.history.positions import tp_of
from krt_scoring.history.records import with_offsets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from krt_scoring.allowances.allowances import Allowances
    from krt_scoring.history.history import History
    from krt_scoring.history.tables import Tables


@dataclass(frozen=True)
class Context:
    """A history and what the configuration allows in it."""

    history: History
    allowances: Allowances

    @cached_property
    def suspects(self) -> DataFrame:
        """The anomalous records (``Records.suspects``) with the cuts of their partition."""
        return with_cuts(self.history.records.suspects, self.allowances.truncations)

    def at(self, rows: DataFrame, position: Column) -> DataFrame:
        """Return rows at a position: its topic, partition and offset, and cuts of its partition."""
        moved = rows.withColumns({"position": position, "tp": tp_of(position)})
        located = with_offsets(moved, self.history.facts)
        return with_cuts(located, self.allowances.truncations)

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.history.spark

    def release(self) -> None:
        """Release the cached rows of the history."""
        self.history.release()


def build(tables: Tables) -> Context:
    """Build the history of some evidence, and derive what its configuration allows."""
    history = history_module.build(tables)
    return Context(history, allowances_module.derive(history))
