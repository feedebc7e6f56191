"""Expectations about the number of records or sends with some outcome."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from krt_contract.outcomes import SendOutcome
from krt_scoring.expectations.results import (
    Noun,
    Result,
    count_bounds,
    evaluate_count,
    not_evaluated,
)
from krt_scoring.inputs.ledger_columns import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.inputs.ledger_columns import Files
    from krt_scoring.inputs.reasons import Reason

RECORDS = Noun("record", "records")
SENDS = Noun("send", "sends")

UNBALANCED = "LedgerDoesNotBalance"


def evaluate_records(
    expect: Mapping[str, Any], ledger: Mapping[str, int], reasons: Sequence[Reason]
) -> Iterator[Result]:
    """Yield the results of ``records``."""
    unbalanced = any(reason.code == UNBALANCED for reason in reasons)
    for item in expect.get("records") or ():
        outcome = item.get("outcome")
        expectation = f"records {outcome}"
        if outcome is None:
            yield not_evaluated(
                "records", count_bounds(item, RECORDS), "the expectation names no outcome"
            )
        elif unbalanced or outcome not in ledger:
            yield not_evaluated(
                expectation, count_bounds(item, RECORDS), "the ledger does not balance"
            )
        else:
            yield evaluate_count(expectation, item, ledger[outcome], RECORDS)


def evaluate_rejections(expect: Mapping[str, Any], files: Files) -> Iterator[Result]:
    """Yield the results of ``rejections``."""
    expected = expect.get("rejections") or ()
    if not expected:
        return
    found = count_rejections(files)
    for item in expected:
        expectation = f"rejections {item['error']}"
        if not files.get("produce"):
            yield not_evaluated(
                expectation, count_bounds(item, SENDS), "there is no produce ledger"
            )
        else:
            yield evaluate_count(expectation, item, found.get(item["error"], 0), SENDS)


def count_rejections(files: Files) -> dict[str, int]:
    """Return the client's error → sends that ended with it, unconfirmed."""
    found: Counter[str] = Counter()
    for batch in read_batches(files, "produce", "outcome", "error"):
        column = batch.column("error")
        if column.null_count == len(column):
            continue
        # A struct a distinct error, of which a run has few, however many sends it has.
        unconfirmed = column.filter(pc.not_equal(batch.column("outcome"), SendOutcome.ACKED))
        for row in unconfirmed.drop_null().value_counts().to_pylist():
            found[row["values"]] += row["counts"]
    return dict(sorted(found.items()))
