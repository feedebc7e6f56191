"""The detector tested on the run's own evidence.

Copies of the evidence are corrupted, seeded, one corruption for each anomaly the run can host;
each names the difference it must make to the judgement, told from the rows around its place and
not by the scorer; the scorer must find that difference, to the single finding, and no other.
The evidence itself is only read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.selftest import files, guard_checks
from krt_scoring.selftest.copies import corrupted
from krt_scoring.selftest.discovery import survey
from krt_scoring.selftest.evaluate import difference
from krt_scoring.selftest.outcome import DetectorScore, outcomes
from krt_scoring.selftest.packing import pack

if TYPE_CHECKING:
    from krt_scoring.history.base import Base
    from krt_scoring.selftest.evaluate import Judged
    from krt_scoring.selftest.outcome import Outcome
    from krt_scoring.verdict.guards.facts import Facts

__all__ = ["DetectorScore", "run", "wanted"]


def records(
    base: Base, judged: Judged, seed: int, each: int = 1
) -> tuple[list[Outcome], dict[str, str]]:
    """Corrupt records; return the outcomes, and what those need that could not be tried.

    Args:
        base: the run's base tables.
        judged: what the rules say of the run as it is.
        seed: of the choice of places.
        each: corruptions of a kind, where there is room for more than one.
    """
    codes = frozenset(reason.code for reason in judged.reasons)
    balanced = bool(judged.ledger.get("balanced"))
    ground = survey(base, judged.found, seed, codes, balanced=balanced)
    plan = pack(ground, each=each)
    told: list[Outcome] = []
    for copy in plan.copies:
        actual = difference(judged, corrupted(base.history, base.facts, copy.patch))
        told += outcomes(copy, actual)
    return told, {kind.name: kind.needs for kind in plan.inapplicable}


def run(base: Base, judged: Judged, facts: Facts, seed: int) -> DetectorScore:
    """Test the detector on a run's evidence.

    Args:
        base: the run's base tables.
        judged: what the rules say of the run as it is.
        facts: what the guards look at.
        seed: of the choice of places; the run's own, so that the same bundle gives the same.
    """
    tried = (
        records(base, judged, seed),
        guard_checks.run(facts),
        files.run(facts.inspection, seed),
    )
    return DetectorScore(
        outcomes=tuple(item for told, _ in tried for item in told),
        inapplicable={name: needs for _, lacking in tried for name, needs in lacking.items()},
    )
