"""Histories of cases: the plan, the tables, and what is detected in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from tests.spark.anomalies.language import PARTITIONS, RUN, Case

from krt_contract.bundle import Bundle
from krt_contract.plan import Plan
from krt_scoring.anomalies import context, detection, unexpected_rebalance, voids
from krt_scoring.anomalies.registry import RULES, UNITS
from krt_scoring.anomalies.schema import FINDING
from krt_scoring.engine import local_rows
from krt_scoring.history import tables as history_module
from krt_scoring.history import tally
from krt_scoring.history.groups import MAX_GROUPS
from krt_scoring.inputs.bundle_files import Inspection
from krt_scoring.inputs.fault_windows import fault_windows
from krt_scoring.inputs.reasons import wholly_invalidated
from krt_scoring.inputs.recording import LogEnd, Recording
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.verdict.guards import isr_at_election, log_stability, producer_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from krt_scoring.anomalies.context import Context
    from krt_scoring.anomalies.registry import Rule
    from krt_scoring.history.tables import Tables
    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.inputs.scope import Scope


CASES = Path(__file__).parent / "cases"

JUDGING_VOIDS = frozenset({"voids", "polling"})
"""Files whose cases say which findings rest on missing evidence."""


TRANSACTIONS = {"recordsPerTransaction": 10}


def plan(cases: list[Case]) -> Plan:
    """The plan under which all the cases ran side by side."""
    own = ("acks", "idempotent", "transactional", "topic")
    of_group = ("commit", "isolation", "own", "output")

    def topic(case: Case, text: str | None) -> str:
        return f"{case.name}-second" if text == "second" else case.name

    producers = [
        {
            "name": f"{case.name}-{name}",
            "topic": topic(case, options.get("topic")),
            "replicas": 1,
            "acks": options.get("acks", "all"),
            "enableIdempotence": options.get("idempotent", "true") == "true",
            "transactional": TRANSACTIONS if "transactional" in options else None,
            "config": {key: value for key, value in options.items() if key not in own},
        }
        for case in cases
        for name, options in case.producers.items()
    ]
    consumers = [
        {
            "name": f"{case.name}-{name}",
            "topics": list(case.topics()),
            "group": case.group(name),
            "commit": options.get("commit", "AfterProcessing"),
            "isolation": options.get("isolation", "read_uncommitted"),
            "output": {"topic": topic(case, options.get("output")), **TRANSACTIONS}
            if options.get("commit") == "Transactional"
            else None,
            "config": {key: value for key, value in options.items() if key not in of_group},
        }
        for case in cases
        for name, options in case.groups.items()
    ]
    topics = [
        {"name": name, "partitions": PARTITIONS, "replicationFactor": 3, "config": settings}
        for case in cases
        for name, settings in case.topics().items()
    ]
    return Plan.from_document(
        {
            "schemaVersion": 2,
            "run": {"namespace": "n", "name": "t", "uid": RUN, "seed": 1},
            "spec": {
                "traffic": {"producers": producers, "consumers": consumers},
                "evidence": {"compareReplicas": True},
            },
            "topics": topics,
        }
    )


def history_of_cases(spark: SparkSession, cases: list[Case], *, shuffled: bool = False) -> Tables:
    """One history of many cases; shuffled, its rows come in another order, in other pieces."""
    tables = {}
    for table, schema in history_module.SCHEMAS.items():
        rows = [
            tuple(case.value(row, name) for name in schema.names)
            for case in cases
            for row in case.rows[table]
        ]
        rows = rows[::-1] if shuffled else rows
        pieces = 3 if shuffled else 1
        tables[table] = spark.createDataFrame(rows, schema).coalesce(pieces)
    events = [event for case in cases for event in case.events]
    return history_module.build(plan(cases), tables, events)


@dataclass
class Outcome:
    """What was detected in a case."""

    findings: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    outcomes: dict[str, int] = field(default_factory=dict)
    void: Counter[str] = field(default_factory=Counter)
    tags: Counter[tuple[str, str]] = field(default_factory=Counter)
    rows: list[dict[str, Any]] = field(default_factory=list)


def detect_side_by_side(spark: SparkSession, cases: list[Case]) -> dict[str, Outcome]:
    """Detect the anomalies of many cases in one history."""
    ctx = context.build(history_of_cases(spark, cases))
    void = void_findings(reasons(ctx, cases), cases)
    found = findings_of(ctx)
    outcomes = outcomes_of(ctx, cases, void, found)
    check_counts(found, void)
    add_outcomes_of_sends(ctx, cases, outcomes)
    ctx.release()
    return outcomes


@dataclass(frozen=True, slots=True)
class VoidFindings:
    """Which findings rest on what the evidence of cases lacks.

    Attributes:
        scopes: anomaly → what is lacking; of reasons that name partitions, and of the others.
        wholly: case → anomalies of which every finding is void.
    """

    scopes: tuple[dict[str, tuple[Scope, ...]], ...]
    wholly: dict[str, frozenset[str]]

    @property
    def within(self) -> Column:
        """Whether a row is about what is lacking."""
        return reduce(or_, map(voids.within, self.scopes))


def void_findings(lacking: list[Reason], cases: list[Case]) -> VoidFindings:
    """Return which findings rest on what the evidence of cases lacks."""
    by_partition = [reason for reason in lacking if reason.scope.partitions]
    others = [reason for reason in lacking if not reason.scope.partitions]
    scopes = tuple(voids.narrow_scopes(some) for some in (by_partition, others))
    return VoidFindings(scopes, wholly_void(lacking, [case.name for case in cases]))


def findings_of(ctx: Context) -> DataFrame:
    """Find the anomalies of all cases; the rows are part of the plan, so they are found once."""
    found = detection.find_all(ctx)
    rows = [] if found is None else [tuple(row) for row in found.collect()]
    return local_rows.frame(ctx.spark, rows, FINDING)


def check_counts(found: DataFrame, void: VoidFindings) -> None:
    """Assert that as many findings are counted as void as there are rows that are.

    Args:
        found: what all rules found.
        void: what the evidence lacks.
    """
    for scopes in void.scopes:
        whole = UNITS.keys() - scopes.keys()
        violations: Counter[str] = Counter()
        resting: Counter[str] = Counter()
        accused = found.filter(sf.col("rule").isNull())
        for row in accused.select("anomaly", voids.within(scopes).alias("rests")).collect():
            violations[row["anomaly"]] += 1
            resting[row["anomaly"]] += row["rests"] or row["anomaly"] in whole
        assert voids.count(found, whole, scopes, violations) == +resting


def outcomes_of(
    ctx: Context,
    cases: list[Case],
    void: VoidFindings,
    found: DataFrame | None,
    rules: tuple[Rule, ...] = RULES,
) -> dict[str, Outcome]:
    """Return what some rules found in each case, and what of it rests on what the evidence lacks.

    Args:
        ctx: the history of all cases.
        cases: the cases.
        void: what their evidence lacks.
        found: what the rules found in that history.
        rules: those rules.
    """
    outcomes = {case.name: Outcome() for case in cases}
    if found is not None:
        found = found.withColumn("void", void.within)
    case_of = {topic: case.name for case in cases for topic in case.topics()}
    if any(unexpected_rebalance.NAME in rule.units for rule in rules):
        for case in cases:
            add_rebalances(ctx, case, outcomes[case.name])
    for row in found.collect() if found is not None else []:
        name = case_of[row["topic"]] if row["topic"] else owner_of(row, outcomes)
        if name is None:
            # Those of groups that cases share are found for each case by itself.
            assert row["anomaly"] == unexpected_rebalance.NAME, f"a finding of no case: {row}"
            continue
        outcome = outcomes[name]
        outcome.findings[row["anomaly"], row["rule"]] += 1
        if row["tag"] is not None:
            outcome.tags[row["anomaly"], row["tag"]] += 1
        rests = row["void"] or row["anomaly"] in void.wholly[name]
        outcome.void[row["anomaly"]] += rests and row["rule"] is None
        outcome.rows.append(row.asDict())
    return outcomes


def add_rebalances(ctx: Context, case: Case, outcome: Outcome) -> None:
    """Add the rebalances of a case that nothing explains, of groups that it shares with others."""
    ownership = ctx.history.ownership
    members = {row["incarnation"] for row in case.rows["consumer_events"]}
    of_case = replace(
        ownership,
        intervals=tuple(item for item in ownership.intervals if item.incarnation in members),
        members=tuple(item for item in ownership.members if item.incarnation in members),
    )
    history = replace(ctx.history, ownership=of_case)
    for row in unexpected_rebalance.unexplained(context.Context(history, ctx.allowances)):
        if owner_of_group(row["grp"], [case.name]) is None:
            outcome.findings[row["anomaly"], row["rule"]] += 1


def add_outcomes_of_sends(ctx: Context, cases: list[Case], outcomes: dict[str, Outcome]) -> None:
    """Add to each case how many of its sends had each outcome."""
    owner = {
        incarnation.key: name
        for incarnation in ctx.history.facts.incarnations.values()
        for name in outcomes
        if incarnation.producer.startswith(f"{name}-")
    }
    faulty = {case.name for case in cases if any(item.source == "fault" for item in case.events)}
    for item in tally.count(ctx.history.records.rows):
        name, outcome_name = owner[item.pk], item.record_outcome
        if name not in faulty and outcome_name == "deliveredLate":
            # Late after the fault of another case: the cases share their clock.
            outcome_name = "delivered"
        counted = outcomes[name].outcomes
        counted[outcome_name] = counted.get(outcome_name, 0) + item.records


def wholly_void(lacking: list[Reason], names: Iterable[str]) -> dict[str, frozenset[str]]:
    """Case → anomalies of which every finding rests on what it lacks, whatever others lack."""

    def concerns(reason: Reason, name: str) -> bool:
        of_case = any(topic in (name, f"{name}-second") for topic, _ in reason.scope.partitions)
        return of_case or any(one.startswith(f"{name}-") for one in reason.scope.incarnations)

    return {
        name: frozenset(wholly_invalidated([one for one in lacking if concerns(one, name)]))
        for name in names
    }


def owner_of(row: Row, names: Iterable[str]) -> str | None:
    """The case of a finding without a topic: of its group or its producer; None if it is shared."""
    return owner_of_group(str(row["grp"] or row["producer"]), names)


def owner_of_group(group: str, names: Iterable[str]) -> str | None:
    """The case that has a group, or a producer, of its own; None if it is shared."""
    return next((name for name in names if group.startswith(f"{name}-")), None)


def reasons(ctx: Context, cases: list[Case]) -> list[Reason]:
    """What the evidence of cases lacks: of producers' ledgers and of logs."""
    tables = ("produce", "producer_summary")
    writers = {
        table: frozenset(
            (row["producer"], row["producer_incarnation"])
            for case in cases
            for row in case.rows[table]
        )
        for table in tables
    }
    ends = tuple(
        LogEnd(**{name: row[name] for name in LogEnd.__dataclass_fields__})
        for case in cases
        for row in case.rows["log_end_offsets"]
    )
    run = ctx.history.facts.run
    recording = Recording(
        run, Timeline(()), (), Inspection(Bundle(CASES), {}, {}, writers, {}), ends
    )
    _, of_records = detection.balance_ledger(ctx)
    return [
        *of_records,
        *log_stability.check(run, ends),
        *producer_summary.check(recording),
        *(reason for case in cases for reason in of_elections(recording, case)),
    ]


def of_elections(recording: Recording, case: Case) -> Iterator[Reason]:
    """What the polled elections of a case leave open; the faults of others are not its own.

    Nor are the findings of others in a group that they share, or whose commits lie in the same
    partition: a reason about a group is about the partitions of the case alone.
    """
    events = tuple(case.events)
    own = replace(recording, timeline=Timeline(events), faults=fault_windows(events))
    partitions = tuple((topic, number) for topic in case.topics() for number in range(PARTITIONS))
    for reason in isr_at_election.check(own, dict.fromkeys(UNITS, 1)):
        scope = reason.scope
        confined = scope if scope.partitions else replace(scope, partitions=partitions)
        yield replace(reason, scope=confined)


def by_groups(cases: list[Case]) -> list[list[Case]]:
    """Divide cases, in order, so that none of the parts has more consumer groups than a run may."""
    parts: list[list[Case]] = [[]]
    groups: set[str] = set()
    for case in cases:
        own = {case.group(name) for name in case.groups}
        if len(groups | own) > MAX_GROUPS:
            parts.append([])
            groups = set()
        groups |= own
        parts[-1].append(case)
    return parts


def load_cases() -> list[Case]:
    """Every case of the folder ``cases``; a case begins with a line ``== name``."""
    found: list[Case] = []
    for path in sorted(CASES.glob("*.txt")):
        for block in path.read_text(encoding="utf-8").split("\n== ")[1:]:
            title, _, text = block.partition("\n")
            name = f"{path.stem}.{title.strip()}".replace(" ", "_")
            judges_voids = path.stem in JUDGING_VOIDS
            case = Case(name, number=len(found) + 1, judges_voids=judges_voids)
            found.append(case.parse(text))
    return found
