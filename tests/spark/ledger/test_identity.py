from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from krt_contract.plan import Plan
from krt_scoring.history.facts import Facts
from krt_scoring.history.identity import Incarnation, ProducerSummary
from krt_scoring.history.ledger_identity import Totals, ledger, ledgers
from krt_scoring.history.outcomes import RECORD_OUTCOMES
from krt_scoring.history.positions import Positions

if TYPE_CHECKING:
    from collections.abc import Mapping

RUN = Plan.from_document(
    {
        "schemaVersion": 2,
        "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
        "spec": {"traffic": {}},
        "topics": [],
    }
)


def incarnation(summary: ProducerSummary | None = None, **counts: int) -> Incarnation:
    values: dict[str, Any] = {
        "key": 1,
        "producer": "p-0",
        "incarnation": "i",
        "rows": 3,
        "acked": 1,
        "failed": 1,
        "unknown": 1,
        "sent": 2,
        "known": 2,
        "highest": 2,
        "repeated": 0,
        "summaries": 1 if summary else 0,
        "summary": summary,
    }
    return Incarnation(**(values | counts))


def facts(*items: Incarnation) -> Facts:
    return Facts(
        run=RUN,
        positions=Positions(()),
        groups=(),
        incarnations=dict(enumerate(items)),
        bounds={},
        starts={},
        reached={},
        log_records=0,
        deliveries=0,
        strays=0,
        stray_deliveries=0,
    )


def totals(**counts: int) -> Totals:
    names = (
        *RECORD_OUTCOMES,
        "unledgered",
        "lostAfterDelivery",
        "corrupt",
        "offsetUnusable",
    )
    base: Mapping[str, int] = dict.fromkeys(names, 0) | {"delivered": 1, "failedNotInLog": 1}
    return Totals({**base, **counts})


def test_ledger_complete_summary_balances() -> None:
    terms, reasons = ledger(totals(unknownInLog=1), facts(incarnation(ProducerSummary(3, 1, 1, 1))))
    assert (terms["attempted"], terms["unknownInLog"], terms["unknownNotInLog"]) == (3, 1, 0)
    assert terms["balanced"] == 1
    assert not reasons


def test_ledger_killed_incarnation_has_unrecorded_sends_that_are_unknown() -> None:
    terms, reasons = ledger(
        totals(unknownInLog=1, unledgered=1), facts(incarnation(known=7, highest=7))
    )
    assert terms["attempted"] == 8
    assert terms["unrecordedSends"] == 5
    assert (terms["unknown"], terms["unknownInLog"], terms["unknownNotInLog"]) == (6, 2, 4)
    assert not reasons


def test_ledger_record_never_sent_still_balances() -> None:
    closed = incarnation(ProducerSummary(3, 1, 1, 1), known=90, highest=90)
    terms, reasons = ledger(totals(unknownInLog=1), facts(closed))
    assert (terms["attempted"], terms["balanced"]) == (3, 1)
    assert not reasons


def test_ledger_damaged_bytes_do_not_count_as_sends() -> None:
    terms, reasons = ledger(totals(unknownInLog=1), facts(incarnation(known=2, highest=10**12)))
    assert (terms["attempted"], terms["unrecordedSends"]) == (3, 0)
    assert not reasons


def test_ledger_empty_history_balances() -> None:
    terms, reasons = ledger(totals(delivered=0, failedNotInLog=0), facts())
    assert terms["balanced"] == 1
    assert terms["attempted"] == 0
    assert not reasons


@pytest.mark.parametrize(
    ("item", "counts", "text"),
    [
        (incarnation(ProducerSummary(4, 2, 1, 1)), {}, "closed with"),
        (incarnation(ProducerSummary(3, 1, 1, 1), sent=5), {}, "seq 5 was sent"),
        (incarnation(ProducerSummary(3, 1, 1, 1), summaries=2), {}, "2 producer summaries"),
        (incarnation(ProducerSummary(3, 1, 1, 1), repeated=1), {}, "more than one ledger row"),
        (incarnation(ProducerSummary(3, 1, 1, 1)), {"delivered": 2}, "acked 1 is not"),
        (incarnation(ProducerSummary(3, 1, 1, 1)), {"failedNotInLog": 0}, "failed 1 is not"),
        (incarnation(ProducerSummary(3, 1, 1, 1)), {"unknownInLog": 2}, "unknown 1 is not"),
    ],
)
def test_ledger_unbalanced_terms_give_a_reason(
    item: Incarnation, counts: dict[str, int], text: str
) -> None:
    terms, reasons = ledger(totals(**counts), facts(item))
    assert terms["balanced"] == 0
    assert {reason.code for reason in reasons} == {"LedgerDoesNotBalance"}
    assert any(text in reason.message for reason in reasons)


def test_ledger_of_an_unbalanced_incarnation_is_about_that_one_alone() -> None:
    sound = incarnation(ProducerSummary(3, 1, 1, 1))
    short = replace(incarnation(ProducerSummary(4, 2, 1, 1)), incarnation="j")
    counts = {"delivered": 2, "failedNotInLog": 2, "unknownInLog": 2}
    _, reasons = ledger(totals(**counts), facts(sound, short))
    assert {reason.scope.incarnations for reason in reasons} == {("j",)}
    assert all("nonmonotonic-poll" not in reason.invalidates for reason in reasons)


def test_ledger_of_unbalanced_sums_alone_is_about_every_producer() -> None:
    item = incarnation(ProducerSummary(3, 1, 1, 1))
    _, (reason,) = ledger(totals(delivered=2, unknownInLog=1), facts(item))
    assert reason.scope.incarnations == ()
    assert "lost-write" in reason.invalidates


def test_ledgers_of_producers_count_each_ones_own_sends() -> None:
    entries = [
        {"name": name, "topic": "foo", "acks": acks, "replicas": 2}
        for name, acks in (("one", "1"), ("all", "all"), ("idle", "0"))
    ]
    run = Plan.from_document(
        {
            "schemaVersion": 2,
            "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
            "spec": {"traffic": {"producers": entries}},
            "topics": [{"name": "foo", "partitions": 1, "replicationFactor": 3}],
        }
    )
    killed = replace(
        incarnation(), producer="one-1", known=7, acked=2, failed=0, outcomes={"lost": 2}
    )
    closed = replace(
        incarnation(ProducerSummary(3, 1, 1, 1)), producer="all-0", outcomes={"delivered": 1}
    )
    found = {item["producer"]: item for item in ledgers(replace(facts(killed, closed), run=run))}
    assert list(found) == ["one", "all", "idle"]
    one = found["one"]
    assert (one["topic"], one["acks"], one["attempted"]) == ("foo", "1", 8)
    # Five sends of the killed incarnation have no row.
    assert (one["acked"], one["failed"], one["unknown"], one["lost"]) == (2, 0, 6, 2)
    assert (found["all"]["attempted"], found["all"]["delivered"], found["all"]["lost"]) == (3, 1, 0)
    assert found["idle"]["attempted"] == 0
