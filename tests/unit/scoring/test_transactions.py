"""Transactions counted from the ledgers, and whether transforms are one to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import ledger_file

from krt_contract.outcomes import DeliveryOutcome, SendOutcome, TransactionOutcome
from krt_contract.plan import Plan
from krt_scoring.metrics.transactions import Transactions, count_transactions

if TYPE_CHECKING:
    from pathlib import Path

COMMITTED, ABORTED, UNKNOWN = TransactionOutcome
SENT = {
    COMMITTED: SendOutcome.ACKED,
    ABORTED: SendOutcome.FAILED,
    UNKNOWN: SendOutcome.UNKNOWN,
}

RUN = Plan.from_document(
    {
        "schemaVersion": 2,
        "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
        "spec": {
            "traffic": {
                "producers": [
                    {
                        "name": "buyer",
                        "topic": "orders",
                        "transactional": {"recordsPerTransaction": 2},
                    }
                ],
                "consumers": [
                    {
                        "name": "biller",
                        "topics": ["orders"],
                        "group": "billers",
                        "commit": "Transactional",
                        "isolation": "read_committed",
                        "output": {"topic": "invoices", "recordsPerTransaction": 2},
                    }
                ],
            }
        },
        "topics": [
            {"name": "orders", "partitions": 1, "replicationFactor": 3},
            {"name": "invoices", "partitions": 1, "replicationFactor": 3},
        ],
    }
)


def sends(producer: str, *transactions: TransactionOutcome, first: int = 0) -> list[dict[str, Any]]:
    """Two sends in each transaction; the seqs follow each other."""
    return [
        {
            "producer": producer,
            "producer_incarnation": f"uid-{producer}",
            "seq": first + 2 * number + place,
            "transaction": number,
            "transaction_outcome": outcome.value,
            "outcome": SENT[outcome].value,
        }
        for number, outcome in enumerate(transactions)
        for place in (0, 1)
    ]


def deliveries(outcome: DeliveryOutcome, *outputs: int | None) -> list[dict[str, Any]]:
    return [
        {
            "consumer": "biller-0",
            "incarnation": "uid-biller-0",
            "group": "billers",
            "outcome": outcome.value,
            "transaction": 0,
            "output_seq": output,
        }
        for output in outputs
    ]


def count(
    folder: Path, produce: list[dict[str, Any]], consume: list[dict[str, Any]]
) -> Transactions:
    files = ledger_file(folder, "produce", produce) | ledger_file(folder, "consume", consume)
    found = count_transactions(RUN, files)
    assert found is not None
    return found


def test_count_transactions_counts_each_once_with_its_records(tmp_path: Path) -> None:
    found = count(tmp_path, sends("buyer-0", COMMITTED, ABORTED, COMMITTED, UNKNOWN), [])
    assert found.ended == {"committed": (2, 4), "aborted": (1, 2), "undecided": (1, 2)}
    plain = {"producer": "p-0", "outcome": "acked", "transaction": None}
    assert count(tmp_path, [plain], []).ended["committed"] == (0, 0)


OK, TAKEN_BACK, UNDECIDED = DeliveryOutcome
OUTPUTS = sends("biller-0", COMMITTED, ABORTED)


@pytest.mark.parametrize(
    ("outputs", "inputs", "expected"),
    [
        (
            OUTPUTS,
            [*deliveries(OK, 0, 1), *deliveries(TAKEN_BACK, 2, 3)],
            {"inputs": 2, "outputs": 2, "oneToOne": True},
        ),
        # An input whose output was in the aborted transaction; another that names none.
        (OUTPUTS, deliveries(OK, 0, 1, 2), {"inputsWithoutOutput": 1, "oneToOne": False}),
        (OUTPUTS, deliveries(OK, 0, 1, None), {"inputsWithoutOutput": 1, "oneToOne": False}),
        (OUTPUTS, deliveries(OK, 0), {"outputsWithoutInput": 1, "oneToOne": False}),
        (OUTPUTS, deliveries(OK, 0, 1, 1), {"inputsWithSharedOutput": 1, "oneToOne": False}),
        # A killed member left its last transaction undecided, in one ledger or in the other.
        (
            OUTPUTS,
            [*deliveries(OK, 0), *deliveries(UNDECIDED, 1)],
            {"undecided": 1, "oneToOne": True},
        ),
        (sends("biller-0", UNKNOWN), deliveries(OK, 0, 1), {"outputs": 0, "oneToOne": True}),
    ],
)
def test_count_transactions_compares_inputs_and_outputs(
    outputs: list[dict[str, Any]],
    inputs: list[dict[str, Any]],
    expected: dict[str, Any],
    tmp_path: Path,
) -> None:
    (transform,) = count(tmp_path, outputs, inputs).transforms
    assert expected.items() <= transform.as_dict().items()


def test_count_transactions_of_a_run_without_any_is_none() -> None:
    spec = {"traffic": {"producers": [{"name": "p", "topic": "orders"}], "consumers": []}}
    document = RUN.to_document() | {"spec": spec}
    assert count_transactions(Plan.from_document(document), {}) is None
