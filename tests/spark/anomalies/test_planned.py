"""Which rules a duplicate leaves something to find: queries that cannot find anything cost most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_scoring.anomalies import context

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_scoring.history.tables import Tables

WRITTEN, DELIVERED, REPORTED = "copied", "oddly", "misplaced"
"""Counts by which duplicate-write, duplicate-delivery and inconsistent-offsets are looked for."""

COPIES = """
    producer p idempotent=false
    send p/1#0 0@{acked} acked
    log 0@0 p/1#0
    log 0@1 p/1#0
    send p/1#1 0@2 acked
    log 0@2 p/1#1
    assigned c1 0@0
    got c1 0@2 p/1#1
    """


@pytest.mark.parametrize(
    ("acked", "got", "expected"),
    [
        (0, (0, 1), {WRITTEN}),
        (1, (0, 1), {WRITTEN}),
        (0, (0,), {WRITTEN}),
        (0, (0, 0), {WRITTEN, DELIVERED}),
        (0, (0, 1, 1), {WRITTEN, DELIVERED}),
        (0, (0, 2), {WRITTEN, DELIVERED, REPORTED}),
        (2, (0, 1), {WRITTEN, REPORTED}),
    ],
    ids=[
        "both delivered",
        "the second acked",
        "the first delivered",
        "the first delivered twice",
        "the second delivered twice",
        "one delivered from elsewhere",
        "acked elsewhere",
    ],
)
def test_totals_of_two_copies_name_what_they_can_show(
    history_of: Callable[[str], Tables], acked: int, got: tuple[int, ...], expected: set[str]
) -> None:
    deliveries = "".join(f"got c1 0@{offset} p/1#0\n" for offset in got)
    ctx = context.build(history_of(COPIES.format(acked=acked) + deliveries + "drained c1 0\n"))
    try:
        totals = ctx.history.records.totals
        assert {term for term in (WRITTEN, DELIVERED, REPORTED) if totals[term]} == expected
    finally:
        ctx.release()
