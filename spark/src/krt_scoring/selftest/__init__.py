"""The detection tested on the run's own evidence.

Copies of the evidence are corrupted by seed, with one corruption for each anomaly that the run can
host. Each corruption names the difference that it must make to the result, which follows from the
rows around its place and not from the scorer. The scorer must find exactly that difference, finding
by finding. The evidence itself is only read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.selftest import files, guard_checks, metadata_log
from krt_scoring.selftest.copies import corrupted
from krt_scoring.selftest.discovery import discover
from krt_scoring.selftest.evaluate import difference
from krt_scoring.selftest.packing import pack
from krt_scoring.selftest.results import SelfTestResult, results_of

if TYPE_CHECKING:
    from krt_scoring.anomalies.context import Context
    from krt_scoring.selftest.evaluate import Detected
    from krt_scoring.selftest.results import CorruptionResult
    from krt_scoring.verdict.guards.registry import GuardInputs

__all__ = ["SelfTestResult", "run"]


def records(
    ctx: Context, detected: Detected, seed: int, each: int = 1
) -> tuple[list[CorruptionResult], dict[str, str]]:
    """Corrupt records; return the results, and what the corruptions need that could not be tried.

    Args:
        ctx: the run's history and what its configuration allows.
        detected: what the rules detected in the run as it is.
        seed: decides which places are chosen.
        each: corruptions of a kind, where there is room for more than one.
    """
    codes = frozenset(reason.code for reason in detected.reasons)
    balanced = bool(detected.ledger.get("balanced"))
    baseline = discover(ctx, detected.findings, seed, codes, balanced=balanced)
    plan = pack(baseline, each=each)
    results: list[CorruptionResult] = []
    for copy in plan.copies:
        actual = difference(detected, corrupted(ctx.history.tables, ctx.history.facts, copy.patch))
        results += results_of(copy, actual)
    return results, {kind.name: kind.needs for kind in plan.inapplicable}


def run(ctx: Context, detected: Detected, given: GuardInputs, seed: int) -> SelfTestResult:
    """Test the detector on a run's evidence.

    Args:
        ctx: the run's history and what its configuration allows.
        detected: what the rules detected in the run as it is.
        given: what the guards look at.
        seed: decides which places are chosen; the run's own, so that the result is the bundle's.
    """
    tried = (
        records(ctx, detected, seed),
        guard_checks.run(given),
        files.run(given.recording.inspection, seed),
        metadata_log.run(given.recording.inspection.bundle.metadata_log, given.recording.run, seed),
    )
    return SelfTestResult(
        results=tuple(item for results, _ in tried for item in results),
        inapplicable={name: needs for _, lacking in tried for name, needs in lacking.items()},
    )
