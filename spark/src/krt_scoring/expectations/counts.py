"""Claims on how many records or sends ended in some way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from krt_contract.outcomes import SendOutcome
from krt_scoring.expectations.result import (
    Result,
    between,
    counted,
    unmeasured,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence

UNBALANCED = "LedgerDoesNotBalance"


def judge(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    """Yield the results of ``records`` and ``rejections``."""
    doubtful = any(reason.code == UNBALANCED for reason in evidence.reasons)
    for item in expect.get("records") or ():
        claim, term = f"records {item['term']}", item["term"]
        if doubtful or term not in evidence.ledger:
            yield unmeasured(claim, between(item, "records"), "the ledger does not balance")
        else:
            yield counted(claim, item, evidence.ledger[term], "records")
    wanted = expect.get("rejections") or ()
    if not wanted:
        return
    found = rejections(evidence)
    for item in wanted:
        claim = f"rejections {item['error']}"
        if not evidence.files.get("produce"):
            yield unmeasured(claim, between(item, "sends"), "there is no produce ledger")
        else:
            yield counted(claim, item, found.get(item["error"], 0), "sends")


def rejections(evidence: Evidence) -> dict[str, int]:
    """Return the client's error → sends that ended with it, unconfirmed."""
    found: Counter[str] = Counter()
    for batch in evidence.batches("produce", "outcome", "error"):
        column = batch.column("error")
        if column.null_count == len(column):
            continue
        # A struct a distinct error, of which a run has few, however many sends it has.
        unconfirmed = column.filter(pc.not_equal(batch.column("outcome"), SendOutcome.ACKED))
        for one in unconfirmed.drop_null().value_counts().to_pylist():
            found[one["values"]] += one["counts"]
    return dict(sorted(found.items()))
