"""What the configuration of a run allows: cuts of a partition's log, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.allowances import consequences, truncations

if TYPE_CHECKING:
    from krt_scoring.allowances.consequences import Spans
    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.history.history import History


@dataclass(frozen=True, slots=True)
class Allowances:
    """What is allowed because of elections that happened.

    Attributes:
        truncations: the cuts that elections may have made; empty where every record that was
            acked or delivered lies at its position, since then no rule has anything to excuse.
        consequences: where those cuts permit consequences, by group and partition.
    """

    truncations: tuple[Truncation, ...]
    consequences: Spans


def derive(history: History) -> Allowances:
    """Derive what is allowed; looks at the records only where some are not at their position."""
    records, facts = history.records, history.facts
    totals = records.totals
    gone = totals["missing"] or totals["vanished"] or totals["misplaced"]
    cuts = truncations.derive(history) if gone else ()
    spans: Spans = {}
    if totals["vanished"] or totals["misplaced"]:
        spans = consequences.derive(records.suspects, facts, cuts)
    return Allowances(truncations=cuts, consequences=spans)
