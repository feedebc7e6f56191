from __future__ import annotations

import pytest
from tests.unit.traffic.transaction_doubles import PLAN, ScriptedClient, ScriptedSender

from krt_contract.clients import Transactions
from krt_traffic.producer.transactions import TransactionalSender
from krt_traffic.sending.records import Records


@pytest.mark.parametrize("flushes", [1, 3])
def test_end_of_a_transaction_aborted_on_purpose_waits_for_the_answers(flushes: int) -> None:
    records, client = Records(PLAN, "p-0", "u1"), ScriptedClient()
    sender = ScriptedSender(records, client, flushes)
    transactional = TransactionalSender(
        sender,
        records,
        Transactions(10, 1000),
        "seed",
        stop_waiting=lambda: False,
        stopping=lambda: False,
    )
    transactional.send(10)
    assert sender.flushes == 0
    assert client.names == ["begin", "abort"]
    rows = records.snapshot()[0].to_pylist()
    outcomes = {(row["outcome"], row["error"], row["transaction_outcome"]) for row in rows}
    assert (len(rows), outcomes) == (10, {("failed", None, "aborted")})


def test_send_of_many_overdue_records_begins_no_transaction_once_stopping() -> None:
    records, client = Records(PLAN, "p-0", "u1"), ScriptedClient()
    transactional = TransactionalSender(
        ScriptedSender(records, client),
        records,
        Transactions(10, 0),
        "seed",
        stop_waiting=lambda: False,
        stopping=lambda: "commit" in client.names,
    )
    transactional.send(500)
    assert records.attempted == 10
    assert client.names == ["begin", "commit"]
