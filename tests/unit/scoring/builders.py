"""Builders of small evidence that several tests of the scorer share.

Times are in µs unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from krt_contract.bundle import Bundle
from krt_contract.plan import Plan
from krt_contract.schemas import TABLES
from krt_contract.timeline import Event
from krt_scoring.anomalies.registry import UNITS
from krt_scoring.anomalies.results import AnomalyResult, Detection, summarize
from krt_scoring.expectations.registry import ExpectationInputs, evaluate
from krt_scoring.history.elections import Election, Electorate
from krt_scoring.history.positions import Positions
from krt_scoring.inputs.bundle_files import Inspection
from krt_scoring.inputs.fault_windows import FaultWindow, fault_windows
from krt_scoring.inputs.recording import LogEnd, Recording
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics.counting import OperationCounts
from krt_scoring.metrics.measures import Measures
from krt_scoring.metrics.partition_states import States
from krt_scoring.verdict.guards.registry import GuardInputs, check_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_scoring.inputs.reasons import Reason

SECOND = 1_000_000

END_ROW: dict[str, list[Any]] = {
    "topic": ["foo"],
    "partition": [0],
    "taken_at": [1],
    "log_start": [0],
    "high_watermark": [1],
    "last_stable": [1],
    "leader": [0],
    "leader_epoch": [0],
    "isr": [[0]],
    "settled": [True],
    "read_from": [0],
    "read_to": [1],
    "rows_read": [1],
}
"""Columns of log_end_offsets: one settled partition with one record."""


# Results of the rules.


def anomaly(
    name: str,
    rules: Mapping[str | None, int] | None = None,
    detail: Mapping[str, int] | None = None,
    examples: tuple[dict[str, Any], ...] = (),
) -> AnomalyResult:
    """Return the result of an anomaly with so many findings by rule (None: not permitted)."""
    return summarize(name, UNITS[name], rules or {}, detail or {}, examples)


def detection(
    rules: Mapping[str, Mapping[str | None, int]] | None = None,
    ledger: Mapping[str, int] | None = None,
) -> Detection:
    """Return what was detected: anomaly → findings by rule."""
    results = tuple(anomaly(name, (rules or {}).get(name)) for name in UNITS)
    return Detection(dict(ledger or {}), results, (), ())


# Events of the timeline.


def event(at: int, source: str, name: str, subject: str = "x", **detail: Any) -> Event:
    """Return an event at a time in µs."""
    return Event(at, at, source, name, subject, detail)


def second_event(at: float, source: str, name: str, subject: str = "", **detail: Any) -> Event:
    """Return an event at a time in seconds."""
    return Event(round(at * SECOND), 0, source, name, subject, detail)


def state(at: float, partition: int, leader: int, isr: list[int], version: int) -> Event:
    """Return a state of a partition of foo at a time in seconds; the epoch is the version."""
    detail = {"leader": leader, "leader_epoch": version, "isr": isr, "version": version}
    return second_event(at, "partition", "state", f"foo-{partition}", **detail)


def timeline_history(
    events: Sequence[Event], topic: str = "foo", partitions: int = 1, /, **config: str
) -> Any:
    """Return of a history what elections and ISRs need: the timeline and the plan of one topic."""
    of_topic = {"name": topic, "partitions": partitions, "replicationFactor": 2, "config": config}
    plan = Plan.from_document(
        {
            "schemaVersion": 2,
            "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
            "topics": [of_topic],
            "spec": {},
        }
    )
    facts = SimpleNamespace(positions=Positions.of(plan), run=plan)
    return SimpleNamespace(tables=SimpleNamespace(timeline=tuple(events)), facts=facts)


def election(electorate: Electorate = Electorate.OUTSIDE, at: int = 16, **changes: Any) -> Election:
    """Return an election of foo-0 from broker 0 to 1, at a time in µs."""
    first = Election(
        topic="foo",
        partition=0,
        at=at,
        epoch=1,
        leader=1,
        electorate=electorate,
        storage_lost=False,
        deposed=0,
        since=1,
        left=0,
        earliest=at,
    )
    return replace(first, **changes)


# Expectations: a run of two partitions in which broker 0 crashes.

DOWN = FaultWindow(
    "down",
    "CrashPod",
    targets=({"pod": "t-kafka-0-0", "uid": "u0", "member": "kafka-0"},),
    injected_at=10 * SECOND,
    reverted_at=30 * SECOND,
    recovered_at=40 * SECOND,
)

CRASH = [
    state(1, 0, 0, [0, 1], 0),
    state(1, 1, 1, [0, 1], 0),
    state(16, 0, 1, [1], 1),
    state(16, 1, 1, [1], 1),
    state(33, 0, 1, [0, 1], 2),
    state(34, 1, 1, [0, 1], 2),
]
"""Broker 0 crashes at 10 s and is back at 30 s: foo-0 moves, both ISRs shrink at 16 s."""


def expecting_run(expect: Mapping[str, Any], **spec: Any) -> Plan:
    """Return a plan with these expectations."""
    document = {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "u", "seed": 1},
        "spec": {"expect": expect, **spec},
        "topics": [
            {
                "name": "foo",
                "partitions": 2,
                "replicationFactor": 2,
                "assignment": {"0": [0, 1], "1": [1, 0]},
            }
        ],
        "members": [
            {"member": "kafka-0", "kind": "kafka", "ordinal": 0},
            {"member": "kafka-1", "kind": "kafka", "ordinal": 1},
            {"member": "zk-0", "kind": "zookeeper", "ordinal": 0},
        ],
    }
    return Plan.from_document(document)


def expectation_inputs(  # noqa: PLR0913 (each test gives a few of them)
    expect: Mapping[str, Any],
    *events: Event,
    run: Plan | None = None,
    faults: tuple[FaultWindow, ...] = (DOWN,),
    verified: Mapping[str, bool] | None = None,
    detected: Detection | None = None,
    reasons: Sequence[Reason] = (),
    files: Mapping[str, tuple[Path, ...]] | None = None,
    left_out: frozenset[str] = frozenset(),
    bundle: Path = Path(),
    **measured: Any,
) -> ExpectationInputs:
    """Return what expectations are evaluated on; ``measured`` are fields of ``Measures``."""
    plan = run or expecting_run(expect)
    timeline = Timeline(tuple(sorted(events, key=lambda item: item.at)))
    inspection = Inspection(Bundle(bundle), files or {}, {}, {}, {}, left_out=left_out)
    return ExpectationInputs(
        recording=Recording(plan, timeline, faults, inspection),
        states=States.of(timeline, plan),
        detection=detected or detection(),
        measures=Measures(OperationCounts(), **measured),
        reasons=reasons,
        verified={"down": True} if verified is None else verified,
        end=60 * SECOND,
    )


def results(expect: Mapping[str, Any], *events: Event, **given: Any) -> dict[str, str]:
    """Return expectation → its result."""
    inputs = expectation_inputs(expect, *events, **given)
    return {item.expectation: item.result for item in evaluate(inputs)}


def reassign(name: str, *replicas: int) -> dict[str, Any]:
    """Return a fault that moves partitions to these replicas."""
    return {"name": name, "action": "Reassign", "targetReplicas": list(replicas)}


def of_fault(**expect: Any) -> dict[str, Any]:
    """Return ``spec.expect`` with these expectations of the fault ``down``."""
    return {"faults": [{"name": "down", **expect}]}


def ledger_file(
    folder: Path, table: str, rows: list[dict[str, Any]]
) -> dict[str, tuple[Path, ...]]:
    """Write rows of a ledger, the columns not given filled up; return table → its files."""
    schema = TABLES[table]
    zeros = {pa.string(): "", pa.bool_(): True}
    columns = {}
    for field in schema:
        filler = None if field.nullable else zeros.get(field.type, 0)
        columns[field.name] = [row.get(field.name, filler) for row in rows]
    file = folder / f"{table}.parquet"
    pq.write_table(pa.table(columns, schema=schema), file)
    return {table: (file,)}


# Guards: a clean run of one partition with one crash.

TARGETS = [{"pod": "t-kafka-0-0", "uid": "uid-kafka-0", "member": "kafka-0"}]


def pod(at: int, name: str, uid: str, component: str, **detail: Any) -> Event:
    """Return an event of a traffic pod."""
    return event(at, "pod", name, f"t-{uid}", uid=uid, component=component, **detail)


EVENTS = (
    event(0, "recorder", "started", "recorder"),
    pod(1, "added", "p0", "producer"),
    pod(1, "added", "c0", "consumer"),
    event(10, "fault", "injected", "leader-down", action="CrashPod", targets=TARGETS),
    event(10, "fault", "observed", "leader-down", verified=True),
    event(20, "fault", "reverted", "leader-down"),
    event(30, "fault", "recovered", "leader-down"),
    pod(90, "exited", "p0", "producer", exitCode=0, message="{}"),
    pod(91, "exited", "c0", "consumer", exitCode=0, message="{}"),
    event(99, "recorder", "stopped", "recorder"),
)


def without(*dropped: tuple[str, str]) -> tuple[Event, ...]:
    """Return the events of the clean run but for those of these sources and kinds."""
    return tuple(item for item in EVENTS if (item.source, item.event) not in dropped)


RUN = Plan.from_document(
    {
        "schemaVersion": 2,
        "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
        "spec": {
            "traffic": {
                "producers": [{"name": "p", "topic": "foo"}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
            },
            "faults": [{"name": "leader-down", "action": "CrashPod"}],
        },
        "topics": [{"name": "foo", "partitions": 1, "replicationFactor": 3}],
    }
)
WRITERS = {
    "produce": frozenset({("p-0", "p0")}),
    "producer_summary": frozenset({("p-0", "p0")}),
    "consume": frozenset({("c-0", "c0")}),
}
INSPECTION = Inspection(Bundle(Path()), {}, {}, WRITERS, {})
OUTCOMES = {
    ("startup", "acked"): 500,
    ("before", "acked"): 500,
    ("during", "acked"): 500,
    ("after", "acked"): 500,
}
LOG_END = LogEnd("foo", 0, settled=True, read_from=0, read_to=9, log_start=0, high_watermark=9)
DETECTION_LIMITS = {("write", ""): 60_000, ("read", "g"): 60_000}
LEDGER = {"attempted": 2000, "acked": 2000}


def guard_inputs(  # noqa: PLR0913 (each test gives a few of them)
    events: tuple[Event, ...] = EVENTS,
    *,
    run: Plan = RUN,
    inspection: Inspection = INSPECTION,
    log_ends: tuple[LogEnd, ...] = (LOG_END,),
    ledger: Mapping[str, int] = LEDGER,
    violations: Mapping[str, int] | None = None,
    counts: OperationCounts | None = None,
    **changes: Any,
) -> GuardInputs:
    """Return what the guards look at; ``changes`` are fields of ``Measures`` or of the inputs."""
    timeline = Timeline(events)
    measured = {name: changes.pop(name) for name in ("gaps", "detection_limits") if name in changes}
    found: dict[str, dict[str | None, int]] = {
        name: {None: count} for name, count in (violations or {}).items()
    }
    return replace(
        GuardInputs(
            Recording(run, timeline, fault_windows(timeline.events), inspection, log_ends),
            detection(found, ledger),
            Measures(
                counts or OperationCounts(outcomes=dict(OUTCOMES)),
                **{"detection_limits": DETECTION_LIMITS, **measured},
            ),
        ),
        **changes,
    )


def codes(given: GuardInputs) -> list[tuple[str, str, str]]:
    """Return kind, code and subject of each reason that the guards give."""
    return [(reason.kind, reason.code, reason.subject) for reason in check_all(given)]
