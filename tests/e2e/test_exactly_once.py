"""Consume, transform, produce under crashes: every order has one invoice, read once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from kit.run import Run, manifest

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e

Identity = tuple[str, str, int]


@pytest.fixture(scope="module")
def run(module_kubectl: Kubectl) -> Run:
    once = Run.apply(module_kubectl, manifest("manifests/scenarios/exactly-once.yaml"))
    once.finish(540)
    return once


def test_exactly_once_passes_without_violation(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    violations = {
        name: anomaly
        for name, anomaly in run.scorecard()["anomalies"].items()
        if anomaly["class"] == "Violation"
    }
    assert violations == {}


def test_exactly_once_every_fault_is_verified(run: Run) -> None:
    faults = run.status["faults"]
    assert [fault["name"] for fault in faults] == ["leader-down", "buyer-crash", "biller-deleted"]
    assert all(fault["verified"] for fault in faults), faults


def test_exactly_once_transformers_end_before_their_topics_end_offsets_are_taken(run: Run) -> None:
    drained = {
        row["group"]: row["at"]
        for row in sorted(rows(run, "consumer_events"), key=lambda row: -row["at"])
        if row["event"] == "drained"
    }
    assert drained.keys() == {"billers", "auditors"}
    end_offsets = rows(run, "log_end_offsets")
    assert max(row["at"] for row in summaries(run)) < min(row["taken_at"] for row in end_offsets)


def test_exactly_once_every_committed_order_has_one_committed_invoice(run: Run) -> None:
    """An independent count, in plain Python, from log and ledgers."""
    log = rows(run, "log")
    orders = Counter(identity(row) for row in log if committed(row, "orders"))
    invoices = {identity(row) for row in log if committed(row, "invoices")}
    taken = [row for row in rows(run, "consume") if row["group"] == "billers"]
    assert {row["outcome"] for row in taken} >= {"ok", "failed"}
    billed = [
        row for row in taken if (row["consumer"], row["incarnation"], row["output_seq"]) in invoices
    ]
    assert Counter(identity(row) for row in billed) == orders
    assert len(invoices) == len(billed) == orders.total()
    # A member's own account of its transactions agrees with the log.
    assert all(row["outcome"] != "failed" for row in billed)
    assert {(row["incarnation"], row["event_seq"]) for row in taken if row["outcome"] == "ok"} <= {
        (row["incarnation"], row["event_seq"]) for row in billed
    }


def test_exactly_once_auditor_reads_every_committed_invoice_and_nothing_else(run: Run) -> None:
    invoices = {identity(row) for row in rows(run, "log") if committed(row, "invoices")}
    read = {identity(row) for row in rows(run, "consume") if row["group"] == "auditors"}
    assert read == invoices


def test_exactly_once_some_transactions_are_aborted(run: Run) -> None:
    outcomes = Counter((row["topic"], row["transaction_outcome"]) for row in rows(run, "produce"))
    for topic in ("orders", "invoices"):
        assert outcomes[topic, "committed"] > outcomes[topic, "aborted"] > 0, outcomes


def rows(run: Run, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(run.bundle / table).to_pylist()
    return found


def summaries(run: Run) -> list[dict[str, Any]]:
    return [row for row in rows(run, "producer_summary") if row["producer"].startswith("biller-")]


def identity(row: dict[str, Any]) -> Identity:
    return (row["producer"], row["producer_incarnation"], row["seq"])


def committed(row: dict[str, Any], topic: str) -> bool:
    return bool(row["topic"] == topic and row["state"] == "committed")
