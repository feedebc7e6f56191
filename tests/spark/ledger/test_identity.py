from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krt_contract.plan import Plan
from krt_scoring.history.facts import Close, Facts, Incarnation
from krt_scoring.history.ledger_identity import Totals, ledger
from krt_scoring.history.outcomes import FATES
from krt_scoring.history.positions import Places

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


def incarnation(close: Close | None = None, **counts: int) -> Incarnation:
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
        "closes": 1 if close else 0,
        "close": close,
    }
    return Incarnation(**(values | counts))


def facts(*items: Incarnation) -> Facts:
    return Facts(
        run=RUN,
        places=Places(()),
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
    names = (*FATES, "unledgered", "lostAfterDelivery", "corrupt", "offsetUnusable", "repeated")
    base: Mapping[str, int] = dict.fromkeys(names, 0) | {"delivered": 1, "failedNotInLog": 1}
    return Totals({**base, **counts})


def test_a_whole_ledger_balances() -> None:
    terms, reasons = ledger(totals(unknownInLog=1), facts(incarnation(Close(3, 1, 1, 1))))
    assert (terms["attempted"], terms["unknownInLog"], terms["unknownNotInLog"]) == (3, 1, 0)
    assert terms["balanced"] == 1
    assert not reasons


def test_a_killed_incarnation_has_blind_sends_that_are_unknown() -> None:
    terms, reasons = ledger(
        totals(unknownInLog=1, unledgered=1), facts(incarnation(known=7, highest=7))
    )
    assert terms["attempted"] == 8
    assert terms["unrecordedSends"] == 5
    assert (terms["unknown"], terms["unknownInLog"], terms["unknownNotInLog"]) == (6, 2, 4)
    assert not reasons


def test_what_was_never_sent_unbalances_nothing() -> None:
    closed = incarnation(Close(3, 1, 1, 1), known=90, highest=90)
    terms, reasons = ledger(totals(unknownInLog=1), facts(closed))
    assert (terms["attempted"], terms["balanced"]) == (3, 1)
    assert not reasons


def test_damaged_bytes_do_not_say_how_much_was_sent() -> None:
    terms, reasons = ledger(totals(unknownInLog=1), facts(incarnation(known=2, highest=10**12)))
    assert (terms["attempted"], terms["unrecordedSends"]) == (3, 0)
    assert not reasons


def test_an_empty_history_balances() -> None:
    terms, reasons = ledger(totals(delivered=0, failedNotInLog=0), facts())
    assert terms["balanced"] == 1
    assert terms["attempted"] == 0
    assert not reasons


@pytest.mark.parametrize(
    ("item", "counts", "said"),
    [
        (incarnation(Close(4, 2, 1, 1)), {}, "closed with"),
        (incarnation(Close(3, 1, 1, 1), sent=5), {}, "seq 5 was sent"),
        (incarnation(Close(3, 1, 1, 1), closes=2), {}, "2 close records"),
        (incarnation(Close(3, 1, 1, 1)), {"repeated": 1}, "more than one ledger row"),
        (incarnation(Close(3, 1, 1, 1)), {"delivered": 2}, "acked 1 is not"),
        (incarnation(Close(3, 1, 1, 1)), {"failedNotInLog": 0}, "failed 1 is not"),
        (incarnation(Close(3, 1, 1, 1)), {"unknownInLog": 2}, "unknown 1 is not"),
    ],
)
def test_what_does_not_balance_is_said(
    item: Incarnation, counts: dict[str, int], said: str
) -> None:
    terms, reasons = ledger(totals(**counts), facts(item))
    assert terms["balanced"] == 0
    assert {reason.code for reason in reasons} == {"LedgerDoesNotBalance"}
    assert any(said in reason.message for reason in reasons)
