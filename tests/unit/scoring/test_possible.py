"""Each rule is planned if, and only if, the counts leave it something to find."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from krt_scoring.anomalies import (
    aborted_read,
    commit_ahead,
    corrupt_payload,
    duplicate_delivery,
    duplicate_write,
    inconsistent_offsets,
    key_order,
    lost_write,
    misplaced_delivery,
    nonmonotonic_send,
    precommitted_read,
    unseen,
    vanished_read,
)

if TYPE_CHECKING:
    from types import ModuleType

TERMS: dict[ModuleType, tuple[str, ...]] = {
    aborted_read: ("failedInLog", "aborted"),
    commit_ahead: ("skipped",),
    corrupt_payload: ("corrupt", "strange"),
    duplicate_delivery: ("oddly",),
    duplicate_write: ("copied",),
    inconsistent_offsets: ("misplaced",),
    lost_write: ("missing",),
    misplaced_delivery: ("displaced",),
    unseen: ("undelivered", "skipped"),
    vanished_read: ("vanished",),
}
"""Rule → the counts of records, any of which leaves it something to find."""


def context(totals: dict[str, int] | None = None, *, unread: bool = False, strays: int = 0) -> Any:
    """Return what `possible` looks at."""
    facts = SimpleNamespace(unread=unread, stray_deliveries=strays)
    records = SimpleNamespace(totals=defaultdict(int, totals or {}))
    return SimpleNamespace(history=SimpleNamespace(facts=facts, records=records))


@pytest.mark.parametrize("rule", TERMS, ids=lambda rule: rule.NAME)
def test_possible_of_no_such_record_is_false(rule: ModuleType) -> None:
    assert not rule.possible(context())


@pytest.mark.parametrize(
    ("rule", "term"),
    [(rule, term) for rule, terms in TERMS.items() for term in terms],
    ids=lambda item: item if isinstance(item, str) else item.NAME,
)
def test_possible_of_one_such_record_is_true(rule: ModuleType, term: str) -> None:
    assert rule.possible(context({term: 1}))


def test_possible_of_bytes_of_nobody_depends_on_how_many_were_delivered() -> None:
    assert misplaced_delivery.possible(context(strays=1))
    assert not duplicate_delivery.possible(context(strays=1))
    assert duplicate_delivery.possible(context(strays=2))


@pytest.mark.parametrize(
    ("totals", "expected"), [({}, False), ({"vanished": 1}, True), ({"misplaced": 1}, True)]
)
def test_may_stray_of_any_record_that_is_gone_or_lies_elsewhere_is_true(
    totals: dict[str, int], *, expected: bool
) -> None:
    assert key_order.may_stray(context(totals)) is expected


def test_possible_of_two_values_where_a_log_was_not_read_is_true() -> None:
    assert inconsistent_offsets.possible(context(unread=True))


def test_possible_of_sends_in_another_order_is_always_true() -> None:
    assert nonmonotonic_send.possible(context())


@pytest.mark.parametrize(
    ("transactional", "committed", "own", "expected"),
    [
        (True, True, True, True),
        (False, True, True, False),
        (True, False, True, False),
        (True, True, False, False),
    ],
)
def test_possible_of_precommitted_read_needs_a_committed_read_of_an_own_write(
    monkeypatch: pytest.MonkeyPatch,
    *,
    transactional: bool,
    committed: bool,
    own: bool,
    expected: bool,
) -> None:
    monkeypatch.setattr(
        precommitted_read, "_own", lambda _: SimpleNamespace(isEmpty=lambda: not own)
    )
    groups = [SimpleNamespace(committed_only=False), SimpleNamespace(committed_only=committed)]
    run = SimpleNamespace(transactional=transactional)
    facts = SimpleNamespace(groups=groups, run=run)
    tables = SimpleNamespace(writers={})
    ctx: Any = SimpleNamespace(history=SimpleNamespace(facts=facts, tables=tables))
    assert precommitted_read.possible(ctx) is expected


@pytest.mark.parametrize(
    ("writers", "expected"),
    [
        ({}, True),
        ({"produce": {"u"}}, True),
        ({"produce": {"u", "v"}, "consume": {"v"}}, True),
        ({"produce": {"u"}, "consume": {"v"}}, False),
        ({"produce": set(), "consume": {"v"}}, False),
    ],
)
def test_possible_of_precommitted_read_where_nobody_reads_and_writes_asks_no_query(
    monkeypatch: pytest.MonkeyPatch, writers: dict[str, set[str]], *, expected: bool
) -> None:
    monkeypatch.setattr(precommitted_read, "_own", lambda _: SimpleNamespace(isEmpty=lambda: False))
    facts = SimpleNamespace(
        groups=[SimpleNamespace(committed_only=True)], run=SimpleNamespace(transactional=True)
    )
    tables = SimpleNamespace(writers=writers)
    ctx: Any = SimpleNamespace(history=SimpleNamespace(facts=facts, tables=tables))
    assert precommitted_read.possible(ctx) is expected
