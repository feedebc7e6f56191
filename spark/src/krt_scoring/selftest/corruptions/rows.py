"""A row missing from a producer's ledger."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_scoring.selftest.corruption import Corruption, Kind
from krt_scoring.selftest.difference import Difference
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline

MISSING = "missing-ledger-row"


def _missing(baseline: Baseline) -> Iterator[Corruption]:
    """Take the row of an acked send out of a ledger that was closed."""
    for point, index in baseline.positions(MISSING):
        record = point.records[index]
        if record.aborted or not baseline.balanced or not baseline.closed(record):
            continue
        ledger = Counter(
            acked=-1, delivered=-1, unknownInLog=1, unknownNotInLog=-1, unledgered=1, balanced=-1
        )
        doubt = ("evidence", "LedgerDoesNotBalance", "produce")
        yield Corruption(
            MISSING,
            record.position,
            Patch(produce={record.sent: []}),
            Difference(ledger=ledger, reasons=frozenset({doubt})),
            # A ledger that does not balance twice over is no more out of balance.
            frozenset({record.position, "balance"}),
        )


KINDS = (
    Kind(
        MISSING, (), "a producer that wrote its close record, and a ledger that balances", _missing
    ),
)
