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
            acked or delivered lies at its position, and no election permits the loss of all acks,
            since then no rule has anything to excuse.
        consequences: where those cuts permit consequences, by group and partition.
    """

    truncations: tuple[Truncation, ...]
    consequences: Spans


def derive(history: History) -> Allowances:
    """Derive what is allowed; looks at the records only where there may be something to excuse.

    An election may have cut what no record shows: aborted records and markers, above which the
    groups had come.
    """
    totals = history.records.totals
    gone = totals["missing"] or totals["vanished"] or totals["misplaced"]
    permitting = truncations.permitting(history)
    cuts = truncations.derive(history) if gone or permitting else ()
    spans = consequences.derive(history, cuts) if permitting else {}
    return Allowances(truncations=cuts, consequences=spans)
