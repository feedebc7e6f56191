"""accepted-below-min-isr: an acks=all send acked while every observed ISR was too small."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from krt_scoring.anomalies.schema import finding
from krt_scoring.engine import local_rows
from krt_scoring.history import freezes
from krt_scoring.history.elections import NO_LEADER, states
from krt_scoring.history.record_columns import ACKED
from krt_scoring.history.records import with_names
from krt_scoring.inputs import broker_session
from krt_scoring.inputs.timeline import FOREVER, unobserved_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.elections import State
    from krt_scoring.history.freezes import Freeze

NAME = "accepted-below-min-isr"

SETTLING = 1_000_000
"""µs after the metadata has the smaller ISR in which a leader that stays may not have heard of it.

It asked for the smaller ISR itself, or it has a session with the controller, which sends it."""


def windows(ctx: Context) -> list[tuple[int, int, int]]:
    """Return (topic-partition, begin, end) in which leaders knew of too small an ISR, in UTC µs."""
    facts, timeline = ctx.history.facts, ctx.history.tables.timeline
    # In the recorder's last silence an ISR may have grown again.
    observed = unobserved_from(timeline)
    end = FOREVER if observed is None else observed
    frozen = freezes.collect(timeline)
    last_ack = _last_ack_of_deposed(ctx, frozen)
    found: list[tuple[int, int, int]] = []
    for (topic, partition), sequence in states(timeline).items():
        # Between two polls an ISR may have grown and shrunk again.
        if not facts.positions.known(topic) or sequence[0].polled:
            continue
        tp, minimum = facts.positions.tp(topic, partition), facts.run.min_insync(topic)
        deposed = _deposed_until(sequence, last_ack)
        since: int | None = None
        for state, unaware_until in zip(sequence, deposed, strict=True):
            short = len(state.isr) < minimum
            if short and since is None:
                settled = freezes.last_ack(state.leader, state.at, frozen, SETTLING)
                since = max(settled, unaware_until)
            elif since is not None and short and state.at < since:
                since = max(since, unaware_until)
            elif not short and since is not None:
                found.append((tp, since, state.at))
                since = None
        if since is not None:
            found.append((tp, since, end))
    return [window for window in found if window[1] <= window[2]]


def _last_ack_of_deposed(ctx: Context, frozen: tuple[Freeze, ...]) -> Callable[[int, int], int]:
    """Return what says of a leader, deposed at a time, until when it may have acked, in UTC µs."""
    restarts = broker_session.controller_elections(ctx.history.tables.timeline)
    session = ctx.history.facts.run.broker_session.micros
    return partial(freezes.last_ack, frozen=frozen, grace=session, restarts=restarts)


def _deposed_until(sequence: tuple[State, ...], last_ack: Callable[[int, int], int]) -> list[int]:
    """Return at each state until when leaders deposed by then may not know of it, in UTC µs.

    Until a deposed leader hears of it, which takes as long as its session may last, it goes on with
    the ISR that it knew, and may have all of those replicas.
    """
    leader, latest, found = NO_LEADER, 0, []
    for state in sequence:
        if leader not in {NO_LEADER, state.leader}:
            latest = max(latest, last_ack(leader, state.at))
        leader = state.leader
        found.append(latest)
    return found


def doubts(ctx: Context) -> dict[tuple[str, int], tuple[tuple[int, int], ...]]:
    """Return of each partition when a leader may not know of a new state: (begin, end), UTC µs."""
    timeline = ctx.history.tables.timeline
    frozen = freezes.collect(timeline)
    last_ack = _last_ack_of_deposed(ctx, frozen)
    stopped = [(item.begin, item.end + SETTLING) for item in frozen if item.member]
    return {
        spot: (
            *stopped,
            *(
                (state.at, until)
                for state, until in zip(sequence, _deposed_until(sequence, last_ack), strict=True)
                if until > state.at
            ),
        )
        for spot, sequence in states(timeline).items()
    }


def possible(ctx: Context) -> bool:
    """Whether any observed ISR was too small."""
    return bool(windows(ctx))


def _acked(ctx: Context) -> DataFrame:
    """Return the acknowledged records, in the partition whose leader acknowledged them.

    The log may hold one in another partition, where it was not sent to.
    """
    acked = sf.col("outcome") == ACKED
    records = ctx.history.records
    moved = records.anomalous.filter(acked & (sf.col("ledger_tp") != sf.col("tp")))
    sent = moved.select("pk", "seq", "ledger_tp")
    here = sf.col("ledger_tp").isNull()
    return (
        records.rows.filter(acked)
        .join(records.few(sent), ["pk", "seq"], "left")
        .withColumns(
            {
                "tp": sf.coalesce("ledger_tp", "tp"),
                "position": sf.when(here, sf.col("position")),
            }
        )
    )


def find(ctx: Context) -> DataFrame:
    """Return one finding a record sent and acked wholly within such a window.

    A clock that was set back may give an acknowledgement an earlier time than its send.
    """
    schema = StructType([StructField(name, LongType()) for name in ("tp", "begin", "end")])
    short = local_rows.frame(ctx.spark, windows(ctx), schema)
    within = (
        _acked(ctx)
        .join(sf.broadcast(short), "tp")
        .filter(
            (sf.col("sent_at") >= sf.col("begin"))
            & (sf.greatest("sent_at", "done_at") <= sf.col("end"))
        )
    )
    found = with_names(within, ctx.history.records.names, ctx.history.facts).filter(
        sf.col("acks") == "all"
    )
    detail = sf.to_json(
        sf.struct(sf.col("sent_at").alias("sentAt"), sf.col("done_at").alias("doneAt"))
    )
    return finding(NAME, found, detail=detail)
