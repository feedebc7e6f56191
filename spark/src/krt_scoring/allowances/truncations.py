"""Where an election may have cut a partition's log, and whose loss that permits.

The evidence holds no start offset of an epoch, so the lowest offset it can have is taken: one
above the highest record that was acked before the election, still lies where it was acked, and
was certainly in the deposed leader's log. A record below that offset was certainly not cut by the
election; one at or above it may have been, and what is only possible is no violation.

A replica elected from within the ISR had followed the deposed leader, so all it has that one had
too. One from outside may bring back records of its own that the deposed leader never had, written
in an earlier epoch; such a record says nothing of those around it, even if the deposed leader wrote
and acked it too, at the same offset, as its producer sent it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from krt_contract.clients import Acks
from krt_scoring.engine import local_rows
from krt_scoring.history import freezes
from krt_scoring.history.elections import Election, Electorate, elections
from krt_scoring.history.positions import offset_of
from krt_scoring.history.record_columns import ACKED
from krt_scoring.inputs import broker_session
from krt_scoring.inputs.client_settings import producer_settings
from krt_scoring.inputs.timeline import CLOCK_SLACK, FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from krt_scoring.history.facts import Facts
    from krt_scoring.history.history import History

_CUT = StructType(
    [
        StructField("at", LongType()),
        StructField("offset", LongType()),
        StructField("rule", StringType()),
        StructField("latest", LongType()),
    ]
)
SCHEMA = StructType([StructField("tp", LongType()), StructField("cuts", ArrayType(_CUT))])
"""One row a partition with its cuts; ``rule`` is null where the cut permits acks=all nothing,
``latest`` the last instant at which the leader before may still have acked (µs)."""


ACKS_ALL = Acks.ALL.value

UNCLEAN = "unclean-election"
"""The rule of an election from outside ISR and ELR, where the topic allows one."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """A cut that an election may have made.

    Attributes:
        offset: the first offset that can have been cut.
        rule: what permits the loss of acks=all records, null where nothing does.
        latest: sends acked later than this were not acked by an earlier leader, in UTC µs.
    """

    election: Election
    tp: int
    offset: int
    rule: str | None
    latest: int

    def as_dict(self) -> dict[str, int | str]:
        """Return the truncation for the scorecard; ``unclean`` only where it is known."""
        known = self.electorate is not Electorate.UNKNOWN
        return {
            "topic": self.election.topic,
            "partition": self.election.partition,
            "at": self.election.at,
            "epoch": self.election.epoch,
            "leader": self.election.leader,
            "firstOffsetCut": self.offset,
            **({"unclean": int(self.election.outside_isr)} if known else {}),
            "electedFrom": str(self.electorate),
        }

    @property
    def electorate(self) -> Electorate:
        """Where the leader came from; that of a permitted unclean election counts as outside."""
        if self.rule == UNCLEAN:
            return Electorate.OUTSIDE
        return self.election.electorate


def rule_of(election: Election, facts: Facts) -> str | None:
    """Return the rule by which an election permits the loss of acks=all records.

    That KRaft elects the last leader it knows permits nothing: nobody asked for it, and what was
    acknowledged by all in-sync replicas is to survive the death of their processes. Nor does an
    election of which it is not known where the leader came from: what was found after it is void.
    """
    if election.storage_lost:
        return "storage-lost"
    unclean = election.electorate in {Electorate.OUTSIDE, Electorate.LAST_KNOWN_LEADER}
    if unclean and facts.run.unclean_election(election.topic):
        return UNCLEAN
    return None


def permitting(history: History) -> bool:
    """Whether any election of a tested partition permits the loss of acks=all records."""
    facts = history.facts
    return any(
        facts.positions.known(item.topic) and rule_of(item, facts) is not None
        for item in elections(history.tables.timeline)
    )


def derive(history: History) -> tuple[Truncation, ...]:
    """Return every cut that the run's elections may have made."""
    facts, records = history.facts, history.records
    found = [
        item for item in elections(history.tables.timeline) if facts.positions.known(item.topic)
    ]
    if not found:
        return ()
    grace = facts.run.broker_session.micros
    restarts = broker_session.controller_elections(history.tables.timeline)
    strict = [
        pk
        for pk, item in facts.incarnations.items()
        if producer_settings(facts.run, item.producer).acks == ACKS_ALL
    ]
    sent = records.rows.withColumn("acks", sf.when(sf.col("pk").isin(*strict), ACKS_ALL))
    elected = moments(found, facts, grace)
    lowest = first_offsets_cut(elected, sent)
    frozen = freezes.collect(history.tables.timeline)
    truncations = []
    for item, moment in zip(found, elected, strict=True):
        tp = facts.positions.tp(item.topic, item.partition)
        offset = 0 if item.storage_lost else lowest.get(moment, 0)
        latest = freezes.last_ack(item.deposed, item.at, frozen, grace, restarts)
        truncations.append(Truncation(item, tp, offset, rule_of(item, facts), latest))
    return tuple(truncations)


MOMENTS = ("tp", "earliest", "since", "strict", "until")
Moment = tuple[int, ...]
"""``MOMENTS`` of an election. Two elections may have the same time, and not the same moments."""


def moments(found: Sequence[Election], facts: Facts, grace: int) -> list[Moment]:
    """Return ``MOMENTS`` of every election, in µs.

    What was acked before the election was in the deposed leader's log: anything where the ISR was
    kept to; else what was sent when no other leader could take it (from ``since`` on), and with
    acks=all what was acked since the ISR was last left (``strict``), while the elected one was
    still in it (``until``). Of a polled cluster it was before ``earliest``, and an answer may be
    as old as the clocks of two processes may differ.
    """
    rows: list[Moment] = []
    parted: dict[int, int] = {}
    for item in found:
        tp = facts.positions.tp(item.topic, item.partition)
        since, strict, until = 0, 0, FOREVER
        if item.outside_isr:
            since = item.since + grace if item.since else 0
            strict = parted.get(tp, 0)
            until = item.left - CLOCK_SLACK
        polled = item.electorate is Electorate.UNKNOWN
        earliest = item.earliest - CLOCK_SLACK if polled else item.earliest
        rows.append((tp, earliest, since, strict, until))
        if item.outside_isr or item.storage_lost:
            parted[tp] = item.at + grace
    return rows


def first_offsets_cut(elected: Sequence[Moment], records: DataFrame) -> dict[Moment, int]:
    """Return moments → the lowest offset that an election with these can have cut.

    It lies above every record that was certainly in the deposed leader's log and still lies where
    it was acked; an election before which there is none can have cut all.

    Args:
        elected: ``MOMENTS`` of each election.
        records: all records, with ``tp, position, outcome, as_acked, sent_at, done_at``, and
            ``acks``, of which only ``all`` counts.
    """
    schema = StructType([StructField(name, LongType()) for name in MOMENTS])
    moments_of = local_rows.frame(records.sparkSession, sorted(set(elected)), schema)
    kept = records.filter((sf.col("outcome") == ACKED) & sf.col("as_acked"))
    in_sync = sf.col("done_at").between(sf.col("strict"), sf.col("until") - 1)
    joined = kept.join(sf.broadcast(moments_of), "tp").filter(
        (sf.col("done_at") < sf.col("earliest"))
        & ((sf.col("sent_at") >= sf.col("since")) | ((sf.col("acks") == ACKS_ALL) & in_sync))
    )
    above = sf.max(offset_of(sf.col("position"))) + 1
    found = joined.groupBy(*MOMENTS).agg(above.alias("offset")).collect()
    return {tuple(row[name] for name in MOMENTS): row["offset"] for row in found}


def table(truncations: tuple[Truncation, ...], like: DataFrame) -> DataFrame:
    """Return the cuts as a DataFrame of one row a partition."""
    by_tp: dict[int, list[tuple[int, int, str | None, int]]] = {}
    for item in truncations:
        by_tp.setdefault(item.tp, []).append(
            (item.election.at, item.offset, item.rule, item.latest)
        )
    rows = [(tp, by_tp[tp]) for tp in sorted(by_tp)]
    return local_rows.frame(like.sparkSession, rows, SCHEMA)


def with_cuts(rows: DataFrame, truncations: tuple[Truncation, ...]) -> DataFrame:
    """Return rows that have ``tp`` with the column ``cuts`` (null: none there)."""
    if not truncations:
        return rows.withColumn("cuts", sf.lit(None).cast(ArrayType(_CUT)))
    return rows.join(sf.broadcast(table(truncations, rows)), "tp", "left")


def reached(offset: Column, before: Column) -> Column:
    """Return the cuts at or below ``offset`` whose earlier leader may have spoken ``before``.

    What is not known, a null, may have been at or above any cut, and at any time.
    """
    return sf.filter(
        "cuts",
        lambda cut: (
            (offset.isNull() | (cut["offset"] <= offset))
            & (before.isNull() | (cut["latest"] >= before))
        ),
    )
