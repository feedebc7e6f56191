"""The scorecard's table of replicas: what was compared with what, and how far each log reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.inputs.reasons import REPLICA_ANOMALIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_scoring.history.replicas import Partition

MAX_ROWS = 512
"""Partitions shown; a topic has at most 64. Later ones are left out beyond it."""


def tables(partitions: Sequence[Partition]) -> list[dict[str, Any]]:
    """Return a row a partition, those of which the log was bounded.

    Each has ``topic``, ``partition``, ``highWatermark``, ``isr``, ``compared`` (brokers whose
    replicas must be alike) and ``replicas``: ``broker``, ``logStart``, ``logEnd`` and, where a
    replica was not dumped whole, ``problem``.
    """
    return [
        {
            "topic": one.topic,
            "partition": one.partition,
            "highWatermark": one.high_watermark,
            "isr": list(one.isr),
            "compared": [replica.broker for replica in one.compared],
            "replicas": [
                {
                    "broker": replica.broker,
                    "logStart": replica.log_start,
                    "logEnd": replica.log_end,
                    **({"problem": replica.problem} if replica.problem else {}),
                }
                for replica in one.replicas
            ],
        }
        for one in partitions[:MAX_ROWS]
    ]


def unasked(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the anomalies that could not be observed, since no replica was dumped."""
    return () if "replicas" in card else REPLICA_ANOMALIES
