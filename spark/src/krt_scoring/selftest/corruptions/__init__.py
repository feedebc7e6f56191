"""Corruptions of records, one module for each family of anomalies."""

from krt_scoring.selftest.corruptions import (
    copies,
    deliveries,
    divergence,
    groups,
    losses,
    misplaced,
    redeliveries,
    reordered,
    replicas,
    rows,
    sends,
    transactions,
    values,
)

KINDS = (
    *losses.KINDS,
    *deliveries.KINDS,
    *misplaced.KINDS,
    *redeliveries.KINDS,
    *reordered.KINDS,
    *sends.KINDS,
    *copies.KINDS,
    *values.KINDS,
    *transactions.KINDS,
    *groups.KINDS,
    *replicas.KINDS,
    *divergence.KINDS,
    *rows.KINDS,
)
"""Every way to corrupt records, in the order of the documentation's table."""

__all__ = ["KINDS"]
