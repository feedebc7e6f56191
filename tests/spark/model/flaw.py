"""Where a model may go wrong.

The model asks at each of its joints whether it is to go wrong here. A correct one never is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.spark.model.consumer import Consumer
    from tests.spark.model.log import Entry, Log
    from tests.spark.model.partition import Partition


class Flaw:
    """No flaw: a Kafka and clients as they should be."""

    def strikes(self, joint: str, **facts: object) -> bool:  # noqa: ARG002 - a correct one looks at nothing
        """Whether to go wrong at this joint, this time."""
        return False

    def appended(self, log: Log, entry: Entry) -> None:
        """A leader appended an entry."""

    def elected(self, partition: Partition, old: int) -> None:
        """A leader was elected; ``old`` led before."""

    def handing(self, consumer: Consumer, number: int, batch: list[Entry]) -> list[Entry]:  # noqa: ARG002
        """Return what a consumer hands out of what it fetched from a partition."""
        return batch

    def marker(self, pid: str, partition: int, decision: str, *, first: bool) -> str:  # noqa: ARG002
        """Return the marker a partition of a transaction gets."""
        return decision
