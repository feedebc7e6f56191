"""From a bundle to its scorecard: the one path of the driver Job and of ``krt-score``.

load → validate → build history → detect and measure → self-test → conclude → lay out the scorecard.
Which files of a bundle can be used is found out before (``inputs.inspection``); the outputs are
written afterwards (``outputs.files``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from krt_scoring import selftest
from krt_scoring.anomalies import context, detection
from krt_scoring.engine.concurrency import in_background
from krt_scoring.errors import PlanError
from krt_scoring.expectations import registry as expectations
from krt_scoring.history import ledger_tables
from krt_scoring.inputs import bundle_files, recording, run_info
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics.measures import measure
from krt_scoring.metrics.partition_states import States
from krt_scoring.metrics.span import span_of
from krt_scoring.outputs import scorecard, series
from krt_scoring.selftest.evaluate import Detected
from krt_scoring.verdict import reasons
from krt_scoring.verdict.conclusion import conclude
from krt_scoring.verdict.guards.registry import GuardInputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from krt_contract.bundle import Bundle
    from krt_contract.plan import Plan
    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.selftest.results import SelfTestResult


@dataclass(frozen=True, slots=True)
class Assessment:
    """A scored bundle.

    Attributes:
        card: the scorecard.
        run: the plan; None where it could not be used.
        events: the timeline, for the report.
        series: the run second by second; None where nothing was measured.
    """

    card: dict[str, Any]
    run: Plan | None
    events: Timeline = field(default_factory=lambda: Timeline(()))
    series: dict[str, Any] | None = None


def assess(spark: SparkSession, inspected: Inspection, *, self_test: bool = False) -> Assessment:
    """Score a bundle.

    Args:
        spark: where the ledgers are joined.
        inspected: the bundle's usable files.
        self_test: whether to run the self-test even where the run's spec does not request it.
    """
    bundle = inspected.bundle
    try:
        run = run_info.load(bundle.run_json)
    except PlanError as error:
        return without_plan(bundle, str(error))
    try:
        return _assess(spark, recording.load(inspected, run), self_test=self_test)
    except (Py4JJavaError, PySparkException, pa.ArrowException, OSError):
        # A footer can be intact while the pages are not. Only then is every file read twice.
        deep = bundle_files.inspect(bundle, deep=True)
        if deep.files == inspected.files:
            raise
        deep = replace(deep, uris=inspected.uris)
        return _assess(spark, recording.load(deep, run), self_test=self_test)


def without_plan(bundle: Bundle, problem: str, where: str = "run.json") -> Assessment:
    """Return the verdict on a bundle whose plan cannot be used.

    Args:
        bundle: where it lies.
        problem: what is wrong with the file.
        where: the file that should hold the plan.
    """
    return Assessment(scorecard.without_plan(bundle, problem, where), None)


def _assess(spark: SparkSession, recorded: Recording, *, self_test: bool) -> Assessment:
    given, collected, tested = _analyse(spark, recorded, self_test=self_test)
    conclusion = conclude(given, collected, tested)
    states, end = States.of(recorded.timeline, recorded.run), span_of(recorded).end
    results = expectations.evaluate(
        expectations.ExpectationInputs(
            recorded,
            states,
            given.detection,
            given.measures,
            conclusion.decision.reasons,
            conclusion.verified,
            end,
        )
    )
    evaluated = scorecard.Evaluated(states, end, results, tested)
    return Assessment(
        scorecard.build(given, conclusion, evaluated),
        recorded.run,
        recorded.timeline,
        series.build(given, evaluated),
    )


def _analyse(
    spark: SparkSession, recorded: Recording, *, self_test: bool
) -> tuple[GuardInputs, list[Reason], SelfTestResult | None]:
    """Detect and measure what Spark is needed for, and run the self-test where it is requested."""
    ctx = context.build(ledger_tables.read(spark, recorded))
    try:
        with (
            in_background(spark, partial(measure, ctx.history, recorded)) as measuring,
            detection.cached_findings(ctx) as findings,
        ):
            detected = detection.count_findings(ctx, findings)
            given = GuardInputs(
                recorded,
                detected,
                measuring.result(),
                ctx.history.ownership.intervals,
                ctx.history.replicas,
            )
            collected = reasons.collect(given)
            judged = replace(
                given, detection=detection.with_voids(ctx, findings, detected, collected)
            )
            if not (self_test or recorded.run.self_test):
                return judged, collected, None
            before = Detected(findings, detected.ledger, detected.reasons)
            return judged, collected, selftest.run(ctx, before, given, recorded.run.seed)
    finally:
        ctx.release()
