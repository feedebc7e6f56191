"""Who sent a record: the incarnations of producers, and the key that stands for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

    from krt_contract.plan import Plan


def key() -> Column:
    """Return the key of a row's producer incarnation."""
    return sf.xxhash64("producer", "producer_incarnation")


def ours(run: Plan) -> Column:
    """Whether a log or consume row carries an identity of this run."""
    known = (sf.col("run_uid") == run.uid) & sf.col("seq").isNotNull()
    named = sf.col("producer").isNotNull() & sf.col("producer_incarnation").isNotNull()
    return sf.coalesce(known & named, sf.lit(col=False))


@dataclass(frozen=True, slots=True)
class ProducerSummary:
    """What an incarnation counted of its sends when it ended in order."""

    attempted: int
    acked: int
    failed: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A producer incarnation as its ledger, the log and the deliveries show it.

    Attributes:
        key: ``xxhash64(producer, producer_incarnation)``, its identity in the tables of records.
        rows: ledger rows, of which ``acked``, ``failed`` and ``unknown``.
        sent: highest seq in its ledger; -1 where there is none.
        known: highest seq in ledger, log or deliveries, of undamaged bytes.
        highest: highest seq, of damaged bytes too.
        repeated: ledger rows beyond the first of a send.
        summaries: producer summaries; more than one is an error of the evidence.
        summary: the producer summary, None where the incarnation was killed.
        outcomes: outcome of the ledger identity → records that its ledger has.
    """

    key: int
    producer: str
    incarnation: str
    rows: int
    acked: int
    failed: int
    unknown: int
    sent: int
    known: int
    highest: int
    repeated: int
    summaries: int
    summary: ProducerSummary | None
    outcomes: Mapping[str, int] = field(default_factory=dict)

    @property
    def unrecorded(self) -> int:
        """Sends that a killed incarnation attempted and has no ledger row of."""
        return self.attempted - self.rows if self.summary is None else 0

    @property
    def attempted(self) -> int:
        """Sends attempted: as the summary counts them, else one more than the highest seq known."""
        return self.summary.attempted if self.summary else self.known + 1
