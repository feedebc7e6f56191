"""From a bundle to its scorecard: the one path of the driver Job and of ``krt-score``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

from krt_contract.schemas import TABLES
from krt_scoring import expectations, selftest
from krt_scoring.anomalies import judgement as rules
from krt_scoring.anomalies import lost_write
from krt_scoring.engine import local_rows
from krt_scoring.engine.caching import hold
from krt_scoring.engine.concurrency import beside
from krt_scoring.errors import PlanError
from krt_scoring.expectations.admin_requests import answers
from krt_scoring.expectations.counts import rejections
from krt_scoring.expectations.evidence import Evidence
from krt_scoring.history import base as base_tables
from krt_scoring.history import tables
from krt_scoring.inputs import (
    fault_windows,
    inspection,
    run_info,
    sequence_log,
    state_log,
    timeline,
)
from krt_scoring.inputs.reasons import ALL, Reason, by_deliveries
from krt_scoring.metrics import (
    breakdown,
    operations,
    partitions,
    recovery,
)
from krt_scoring.metrics.measures import measure
from krt_scoring.outputs import replicas, scorecard
from krt_scoring.selftest.evaluate import Judged
from krt_scoring.verdict import (
    guards,
    objectives,
    score,
    summary,
    verdict,
)
from krt_scoring.verdict.guards import effect
from krt_scoring.verdict.guards.facts import Bound, Facts
from krt_scoring.verdict.score_inputs import score_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from krt_contract.bundle import Bundle
    from krt_contract.plan import Plan
    from krt_scoring.anomalies.findings import Judgement
    from krt_scoring.inputs.inspection import Inspection
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.metrics.measures import Measures


@dataclass(frozen=True, slots=True)
class Assessment:
    """A scored bundle.

    Attributes:
        card: the scorecard.
        run: the plan; None where it could not be used.
        events: the timeline, for the report.
    """

    card: dict[str, Any]
    run: Plan | None
    events: Timeline = field(default_factory=lambda: timeline.Timeline(()))


def assess(spark: SparkSession, inspected: Inspection, *, self_test: bool = False) -> Assessment:
    """Score a bundle.

    Args:
        spark: where the ledgers are joined.
        inspected: the bundle's usable files.
        self_test: whether to test the detector too where the run's spec does not ask for it.
    """
    bundle = inspected.bundle
    try:
        run = run_info.load(bundle.run_json)
    except PlanError as error:
        return without_plan(bundle, str(error))
    events = state_log.filled(timeline.read(bundle.timeline), bundle.logs)
    events = sequence_log.filled(events, bundle.logs)
    try:
        return _assess(spark, inspected, run, events, self_test=self_test)
    except (Py4JJavaError, PySparkException, pa.ArrowException, OSError):
        # A footer can be whole while the pages are not. Only then is every file read twice.
        deep = inspection.inspect(bundle, deep=True)
        if deep.left_out == inspected.left_out:
            raise
        return _assess(spark, deep, run, events, self_test=self_test)


def without_plan(bundle: Bundle, problem: str, where: str = "run.json") -> Assessment:
    """Return the verdict on a bundle that does not say what was run.

    Args:
        bundle: where it lies.
        problem: what is wrong with the file.
        where: the file that should have said it.
    """
    uid, name, namespace = (
        *reversed(bundle.root.resolve().parts[-3:]),
        "",
        "",
        "",
    )[:3]
    reason = Reason("evidence", "PlanUnusable", where, problem, ALL)
    card = scorecard.header(namespace, name, uid, None) | {
        "verdict": "Inconclusive",
        "summary": f"PlanUnusable {where}: {problem}"[: summary.MAX_LENGTH],
        "inconclusiveReasons": [reason.as_dict()],
    }
    return Assessment(card, None)


def _assess(
    spark: SparkSession,
    inspected: Inspection,
    run: Plan,
    events: Timeline,
    *,
    self_test: bool,
) -> Assessment:
    faults = fault_windows.fault_windows(events)
    span = _span(inspected, run, events, faults)
    past = tables.of(run, _tables(spark, inspected), events.events)
    whole = recovery.wholes(events, run, faults, span.end)
    base = base_tables.build(past)
    held = None
    try:
        with beside(spark, partial(measure, base, span, faults, whole)) as measuring:
            found = rules.findings(base)
            held = hold(found) if found is not None else None
            found = held.rows if held is not None else None
            judgement = rules.judge_found(base, found)
        measures: Measures = measuring.result()
        around = breakdown.Surroundings(faults, events, breakdown.assignments(base))
        violations = {item.name: item.violations for item in judgement.anomalies}
        facts = Facts(
            run=run,
            inspection=inspected,
            timeline=events,
            windows=faults,
            operations=measures.operations,
            bounds=_bounds(inspected),
            ledger=judgement.ledger,
            gaps=tuple(measures.gaps),
            thresholds=measures.thresholds,
            violations=violations,
            ownerships=base.reading.owned,
            replicas=base.replicas,
        )
        tested = None
        if self_test or run.self_test:
            judged = Judged(found, judgement.ledger, judgement.reasons)
            tested = selftest.run(base, judged, facts, run.seed)
    finally:
        if held is not None:
            held.release()
        base.release()

    missed = tested.reason() if tested else None
    reasons = sorted(
        {
            *inspected.reasons,
            *events.reasons,
            *judgement.reasons,
            *guards.check(facts),
            *([missed] if missed else ()),
        }
    )
    if lost_write.BASIS_DELIVERIES in judgement.anomaly(lost_write.NAME).detail:
        reasons = by_deliveries(reasons)
    recovered = recovery.recoveries(faults, whole, measures.operations.last_read, span.end)
    limits_wanted = objectives.limits(run.resolved_spec)
    reached = objectives.judge(
        limits_wanted,
        {
            "lostRecords": _lost(judgement),
            "maxWriteUnavailability": measures.longest(operations.WRITE),
            "maxReadUnavailability": measures.longest(operations.READ),
            "maxRecovery": recovery.longest(recovered),
        },
        () if all(item.complete for item in recovered) else ("maxRecovery",),
    )
    decision = verdict.decide(violations, reasons, reached)
    verified = {window.name: effect.verified(window, events) for window in faults}
    evidence = Evidence(
        run=run,
        timeline=events,
        windows=faults,
        verified=verified,
        ledger=judgement.ledger,
        anomalies={item.name: item for item in judgement.anomalies},
        reasons=reasons,
        gaps=measures.gaps,
        measured=measures.measured,
        thresholds=measures.thresholds,
        recoveries=recovered,
        files=inspected.files,
        logs=inspected.bundle.logs,
        end=span.end,
    )
    card = scorecard.header(run.namespace, run.name, run.uid, run.seed) | {
        "verdict": decision.verdict,
        "summary": summary.line(decision, judgement.ledger, judgement.anomalies, tested),
        "inconclusiveReasons": [reason.as_dict() for reason in reasons],
        "ledger": judgement.ledger,
        "anomalies": scorecard.anomalies(judgement.anomalies),
        "allowances": scorecard.allowances(judgement.anomalies),
        "truncations": list(judgement.truncations),
        "objectives": [item.as_dict() for item in reached],
        "faults": scorecard.faults(faults, verified),
        "partitions": partitions.tables(evidence.states, faults, span.end),
        "rejections": rejections(evidence),
        "adminRequests": answers(events),
        "expectationResults": [item.as_dict() for item in expectations.judge(evidence)],
        "availability": scorecard.availability(run, measures.gaps, measures.measured, around),
        "latency": scorecard.latency(measures.operations),
        "recovery": {
            "max": recovery.longest(recovered) or 0,
            "faults": [item.as_dict() for item in recovered],
        },
    }
    if run.imported:
        card["imported"] = run.imported.to_document()
        del card["latency"]
    if run.compares_replicas:
        card["replicas"] = replicas.tables(facts.replicas)
    if tested is not None:
        card["selfTest"] = tested.as_dict()
    if decision.verdict != "Inconclusive":
        result = score.compute(score_inputs(judgement, decision))
        card |= {"score": result.points, "components": result.components}
    return Assessment(card, run, events)


def _tables(spark: SparkSession, inspected: Inspection) -> dict[str, DataFrame]:
    """Read each table by its schema: its folder, or the usable files where some are left out."""
    found = {}
    for table in TABLES:
        files = inspected.files[table]
        schema = tables.SCHEMAS[table]
        if not files:
            found[table] = local_rows.frame(spark, [], schema)
            continue
        reader = spark.read.schema(schema).option("pathGlobFilter", "*.parquet")
        folder = str(inspected.bundle.table(table).resolve())
        paths = [str(path.resolve()) for path in files] if table in inspected.left_out else folder
        rows = reader.parquet(*([paths] if isinstance(paths, str) else paths))
        # What is alike in every row need not be read, nor compared row by row.
        same = inspected.same.get(table, {})
        found[table] = rows.withColumns({name: sf.lit(text) for name, text in same.items()})
    return found


def _span(
    inspected: Inspection,
    run: Plan,
    events: Timeline,
    faults: Sequence[fault_windows.FaultWindow],
) -> operations.Span:
    first, last = inspected.sends
    ends = [high for _, high in inspected.times.values()]
    if run.imported:
        return operations.Span(first, first, max(ends, default=0))
    steady = operations.steady_from(first, last, events, faults, run.warmup.micros)
    return operations.Span(first, steady, max(ends, default=0))


def _bounds(inspected: Inspection) -> tuple[Bound, ...]:
    columns = (
        "topic",
        "partition",
        "settled",
        "read_from",
        "read_to",
        "log_start",
        "high_watermark",
        "rows_read",
    )
    files = inspected.files["log_end_offsets"]
    if not files:
        return ()
    table = pa.concat_tables([pq.read_table(path, columns=list(columns)) for path in files])
    return tuple(Bound(**row) for row in table.to_pylist())


def _lost(judgement: Judgement) -> int:
    return max(judgement.anomaly("lost-write").count, judgement.ledger.get("lost", 0))
