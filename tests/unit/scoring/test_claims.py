"""Claims held against small pieces of evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krt_contract.members import Member, MemberKind
from krt_contract.plan import Plan
from krt_contract.schemas import TABLES
from krt_contract.timeline import Event
from krt_scoring import expectations
from krt_scoring.anomalies.findings import UNITS
from krt_scoring.anomalies.findings import result as anomaly_result
from krt_scoring.expectations.broker_return import FETCHER
from krt_scoring.expectations.evidence import Evidence
from krt_scoring.inputs.fault_windows import FaultWindow
from krt_scoring.inputs.reasons import Reason
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics import partitions
from krt_scoring.metrics.gaps import Gap, Measured
from krt_scoring.metrics.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SECOND = 1_000_000
DOWN = FaultWindow(
    "down",
    "CrashPod",
    targets=({"pod": "t-kafka-0-0", "uid": "u0", "member": "kafka-0"},),
    injected_at=10 * SECOND,
    reverted_at=30 * SECOND,
    recovered_at=40 * SECOND,
)


def run(expect: Mapping[str, Any], **spec: Any) -> Plan:
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


def event(at: float, source: str, name: str, subject: str = "", **detail: Any) -> Event:
    return Event(round(at * SECOND), 0, source, name, subject, detail)


def state(at: float, partition: int, leader: int, isr: list[int], version: int) -> Event:
    detail = {"leader": leader, "leader_epoch": version, "isr": isr, "version": version}
    return event(at, "partition", "state", f"foo-{partition}", **detail)


CRASH = [
    state(1, 0, 0, [0, 1], 0),
    state(1, 1, 1, [0, 1], 0),
    state(16, 0, 1, [1], 1),
    state(16, 1, 1, [1], 1),
    state(33, 0, 1, [0, 1], 2),
    state(34, 1, 1, [0, 1], 2),
]
"""Broker 0 crashes at 10 s and is back at 30 s: foo-0 moves, both ISRs shrink at 16 s."""


def evidence(expect: Mapping[str, Any], *events: Event, **parts: Any) -> Evidence:
    found = {
        "windows": (DOWN,),
        "verified": {"down": True},
        "end": 60 * SECOND,
        "anomalies": {name: anomaly_result(name, {}, {}, ()) for name in UNITS},
        **parts,
    }
    ordered = tuple(sorted(events, key=lambda item: item.at))
    return Evidence(run=run(expect), timeline=Timeline(ordered), **found)


def judged(expect: Mapping[str, Any], *events: Event, **parts: Any) -> dict[str, str]:
    return {r.claim: r.result for r in expectations.judge(evidence(expect, *events, **parts))}


def of_fault(**claimed: Any) -> dict[str, Any]:
    return {"faults": [{"name": "down", **claimed}]}


@pytest.mark.parametrize(
    ("field", "bounds", "result"),
    [
        ("leaderChanges", {"min": 1, "max": 1}, "Met"),
        ("leaderChanges", {"max": 0}, "NotMet"),
        ("unrelatedLeaderChanges", {"max": 0}, "Met"),
        ("offlinePartitions", {"max": 0}, "Met"),
        ("offlinePartitions", {"min": 1}, "NotMet"),
        ("isrShrinks", {"min": 2, "max": 2}, "Met"),
        ("isrShrinks", {"max": 1}, "NotMet"),
        ("isrShrinkAfter", {"min": "5s", "max": "7s"}, "Met"),
        ("isrShrinkAfter", {"max": "5s"}, "NotMet"),
    ],
)
def test_leaders_and_isrs_under_a_crash(field: str, bounds: dict[str, Any], result: str) -> None:
    assert judged(of_fault(**{field: bounds}), *CRASH) == {f"down.{field}": result}


def test_a_partition_without_a_leader_is_one_and_no_move() -> None:
    events = [*CRASH[:2], state(16, 0, -1, [0], 1), state(31, 0, 0, [0], 2)]
    claimed = of_fault(offlinePartitions={"min": 1, "max": 1}, leaderChanges={"max": 0})
    assert set(judged(claimed, *events).values()) == {"Met"}


def test_a_leader_that_leaves_a_broker_nobody_hit_is_told() -> None:
    events = [*CRASH, state(20, 1, 0, [0, 1], 3)]
    events = [e for e in events if e.at != 34 * SECOND]
    (found,) = expectations.judge(evidence(of_fault(unrelatedLeaderChanges={"max": 0}), *events))
    assert (found.result, found.numbers) == ("NotMet", {"value": 1})
    assert "foo-1 from 1" in found.seen


def test_while_held_ends_at_the_heal() -> None:
    events = [*CRASH[:2], state(35, 0, 1, [1], 1)]
    for until, result in (("Reverted", "Met"), ("Recovered", "NotMet")):
        found = judged(of_fault(leaderChanges={"max": 0}, until=until), *events)
        assert list(found.values()) == [result]
    assert list(judged(of_fault(leaderChanges={"max": 0}, until="Reverted"), *events)) == [
        "down while held.leaderChanges"
    ]


def test_a_missed_state_makes_an_absence_unmeasured_but_not_a_presence() -> None:
    events = [*CRASH[:2], state(16, 0, 1, [1], 4), state(16, 1, 1, [1], 1)]
    found = judged(of_fault(unrelatedLeaderChanges={"max": 0}, leaderChanges={"min": 1}), *events)
    assert found == {"down.unrelatedLeaderChanges": "NotEvaluated", "down.leaderChanges": "Met"}


@pytest.mark.parametrize(
    ("silence", "result"),
    [((), "Met"), ((12, 15.9), "Met"), ((14, 16.1), "NotEvaluated"), ((16.1, 18), "Met")],
)
def test_a_state_missed_by_a_recorder_that_was_not_silent_was_short(
    silence: tuple[float, float] | tuple[()], result: str
) -> None:
    events = [*CRASH[:2], state(16, 0, 1, [1], 2), state(16, 1, 1, [1], 1)]
    if silence:
        since, until = (round(at * SECOND) for at in silence)
        gap = {"stream": "zookeeper", "from": since, "to": until}
        events.append(event(silence[1], "recorder", "gap", "recorder", **gap))
    found = judged(of_fault(offlinePartitions={"max": 0}, isrShrinks={"max": 2}), *events)
    assert found == {"down.offlinePartitions": result, "down.isrShrinks": "Met"}


@pytest.mark.parametrize(("until", "count"), [(16.004, 0), (16.999, 0), (17, 1), (50, 1)])
def test_a_partition_is_leaderless_from_a_second_on(until: float, count: int) -> None:
    """The controller writes a state without a leader milliseconds ahead of the next leader's."""
    events = [*CRASH[:2], state(16, 0, -1, [1], 1), state(until, 0, 1, [1], 2)]
    claimed = of_fault(offlinePartitions={"min": count, "max": count})
    assert set(judged(claimed, *events).values()) == {"Met"}


@pytest.mark.parametrize(
    ("isr", "registered", "count"),
    [([1], (2,), 0), ([1], (2, 17), 1), ([0], (2,), 1), ([1], (20,), 1), ([1], (), 1)],
)
def test_an_election_that_takes_the_controller_long_leaves_nobody_leaderless(
    isr: list[int], registered: tuple[float, ...], count: int
) -> None:
    """Seen on a busy machine: 2.7 s between the state without a leader and the next leader's."""
    events = [*CRASH[:2], state(16, 0, -1, isr, 1), state(18.7, 0, 1, [1], 2)]
    events += [event(at, "broker", "registered", "1", epoch=at) for at in registered]
    claimed = of_fault(offlinePartitions={"min": count, "max": count})
    assert set(judged(claimed, *events).values()) == {"Met"}


@pytest.mark.parametrize(
    ("version", "registered", "result"),
    [(2, 0.5, "Met"), (2, 15, "NotEvaluated"), (3, 0.5, "NotEvaluated")],
)
def test_a_state_missed_in_a_silence_hides_no_wait_for_a_broker_that_was_there(
    version: int, registered: float, result: str
) -> None:
    gap = {"stream": "zookeeper", "from": 14 * SECOND, "to": 17 * SECOND}
    events = [
        event(registered, "broker", "registered", "1"),
        *CRASH[:2],
        state(16, 0, 1, [1], version),
        state(16, 1, 1, [1], 1),
        event(17, "recorder", "gap", "recorder", **gap),
    ]
    found = judged(of_fault(offlinePartitions={"max": 0}), *events)
    assert found == {"down.offlinePartitions": result}


def test_a_shrink_missed_where_one_was_seen_changes_no_count() -> None:
    events = [*CRASH[:2], state(16, 0, 1, [1], 4), state(16, 1, 1, [1], 1)]
    for bounds, result in (({"min": 2, "max": 2}, "Met"), ({"max": 1}, "NotMet")):
        assert judged(of_fault(isrShrinks=bounds), *events) == {"down.isrShrinks": result}
    unseen = [*CRASH[:2], state(16, 0, 1, [1], 1), state(16, 1, 1, [0, 1], 2)]
    assert judged(of_fault(isrShrinks={"max": 1}), *unseen) == {"down.isrShrinks": "NotEvaluated"}


@pytest.mark.parametrize("parts", [{"verified": {"down": False}}, {"windows": ()}])
def test_a_fault_without_proof_measures_nothing(parts: dict[str, Any]) -> None:
    claimed = of_fault(leaderChanges={"min": 1}, unavailability=[])
    assert judged(claimed, *CRASH, **parts) == {"down.leaderChanges": "NotEvaluated"}


def test_nothing_is_held_without_states() -> None:
    claimed = of_fault(
        leaderChanges={"max": 0}, isrShrinks={"max": 0}, brokerSessionExpirations={"max": 0}
    )
    assert set(judged(claimed).values()) == {"NotEvaluated"}


def test_recovery_of_the_isr() -> None:
    whole = Recovery("down", 30 * SECOND, 34 * SECOND, None, 4 * SECOND, complete=True)
    never = replace(whole, isr_restored_at=None, complete=False)
    claimed = of_fault(isrRestoredAfter={"max": "5s"})
    for recovery, result in ((whole, "Met"), (never, "NotMet")):
        assert list(judged(claimed, *CRASH, recoveries=[recovery]).values()) == [result]


def test_sessions_controllers_and_zookeeper() -> None:
    events = [
        event(1, "broker", "registered", "0"),
        event(16, "broker", "unregistered", "0"),
        event(1, "controller", "elected", "0"),
        event(17, "controller", "elected", "1"),
        event(1, "zookeeper", "leader", "zk-1"),
        event(20, "zookeeper", "quorum-lost", "zk-1"),
        event(50, "zookeeper", "leader", "zk-2"),
    ]
    claimed = of_fault(
        brokerSessionExpirations={"min": 1, "max": 1},
        controllerChanges={"min": 1, "max": 1},
        zookeeperLeaderChanges={"max": 0},
        quorumLosses={"max": 0},
    )
    found = judged(claimed, *events)
    assert [
        found[f"down.{name}"] for name in ("brokerSessionExpirations", "controllerChanges")
    ] == ["Met"] * 2
    assert found["down.zookeeperLeaderChanges"] == "Met"
    assert found["down.quorumLosses"] == "NotMet"


def test_the_same_controller_again_is_no_move() -> None:
    events = [event(1, "controller", "elected", "0"), event(17, "controller", "elected", "0")]
    assert list(judged(of_fault(controllerChanges={"max": 0}), *events).values()) == ["Met"]


GAPS = [
    Gap("write", "", "foo", 0, 10 * SECOND, 18 * SECOND),
    Gap("read", "g", "foo", 1, 10 * SECOND, 12 * SECOND),
    Gap("write", "", "foo", 1, 50 * SECOND, 59 * SECOND),
]
DUE = [
    Measured(kind, group, "foo", partition, 99, 9)
    for kind, group in (("write", ""), ("read", "g"))
    for partition in (0, 1)
]
LIMITS = {("write", ""): SECOND // 10, ("read", "g"): SECOND // 10}


@pytest.mark.parametrize(
    ("gap", "result"),
    [
        ({"of": "Writes", "longerThan": "5s", "min": 1, "max": 1}, "Met"),
        ({"of": "Writes", "longerThan": "9s", "max": 0}, "Met"),
        ({"of": "Writes", "longerThan": "5s", "topic": "bar", "max": 0}, "NotEvaluated"),
        ({"of": "Reads", "longerThan": "1s", "group": "g", "max": 0}, "NotMet"),
        ({"of": "Reads", "longerThan": "3s", "max": 0}, "Met"),
        ({"of": "Reads", "longerThan": "10ms", "max": 0}, "NotEvaluated"),
    ],
)
def test_unavailability_of_the_faults_time(gap: dict[str, Any], result: str) -> None:
    parts = {"gaps": GAPS, "measured": DUE, "thresholds": LIMITS}
    found = judged(of_fault(unavailability=[gap]), **parts)
    assert list(found.values()) == [result]


@pytest.mark.parametrize(
    ("word", "rules", "result"),
    [
        ("None", {}, "Met"),
        ("None", {"unclean-election": 3}, "NotMet"),
        ("Allowed", {}, "Met"),
        ("Allowed", {"unclean-election": 3}, "Met"),
        ("Allowed", {None: 1}, "NotMet"),
        ("Required", {}, "NotMet"),
        ("Required", {"unclean-election": 3}, "Met"),
        ("Required", {"unclean-election": 3, None: 1}, "NotMet"),
    ],
)
def test_loss_in_one_word(word: str, rules: dict[str | None, int], result: str) -> None:
    anomalies = {"lost-write": anomaly_result("lost-write", rules, {}, ())}
    assert judged({"loss": word}, anomalies=anomalies) == {"loss": result}


def test_damaged_evidence_measures_nothing() -> None:
    reason = Reason("evidence", "FileMissing", "log", "gone", ("lost-write",))
    assert judged({"loss": "None"}, reasons=[reason]) == {"loss": "NotEvaluated"}


@pytest.mark.parametrize(
    ("word", "unclean", "result"), [("None", False, "Met"), ("Required", True, "Met")]
)
def test_unclean_elections(word: str, unclean: bool, result: str) -> None:
    later = [state(16, 0, 0, [0], 1), state(20, 0, 1, [1], 2), state(20, 1, 1, [1], 1)]
    events = [*CRASH[:2], *(later if unclean else CRASH[2:])]
    found = evidence({"uncleanElections": word}, *events)
    broker = {"unclean.leader.election.enable": "true"}
    (judgement,) = expectations.judge(replace(found, run=replace(found.run, broker_config=broker)))
    assert judgement.result == result


def test_an_unclean_election_nobody_allowed_is_not_permitted() -> None:
    events = [*CRASH[:2], state(16, 0, 0, [0], 1), state(20, 0, 1, [1], 2)]
    assert judged({"uncleanElections": "Allowed"}, *events) == {"uncleanElections": "NotMet"}


def test_terms_of_the_ledger() -> None:
    claimed = {"records": [{"term": "unknown", "min": 1}, {"term": "lost", "max": 0}]}
    ledger = {"unknown": 0, "lost": 0}
    assert judged(claimed, ledger=ledger) == {"records unknown": "NotMet", "records lost": "Met"}
    reason = Reason("evidence", "LedgerDoesNotBalance", "", "off by one")
    assert set(judged(claimed, ledger=ledger, reasons=[reason]).values()) == {"NotEvaluated"}


def table(path: Path, name: str, rows: list[dict[str, Any]]) -> dict[str, list[Path]]:
    schema = TABLES[name]
    zeros = {pa.string(): "", pa.bool_(): True}
    columns = {}
    for field in schema:
        filler = None if field.nullable else zeros.get(field.type, 0)
        columns[field.name] = [row.get(field.name, filler) for row in rows]
    file = path / f"{name}.parquet"
    pq.write_table(pa.table(columns, schema=schema), file)
    return {name: [file]}


def test_rejections_by_error(tmp_path: Path) -> None:
    rows = [
        {"outcome": "acked"},
        *({"outcome": "failed", "error": "NOT_ENOUGH_REPLICAS"} for _ in range(3)),
        {"outcome": "unknown", "error": "_MSG_TIMED_OUT"},
    ]
    claimed = {
        "rejections": [
            {"error": "NOT_ENOUGH_REPLICAS", "min": 3, "max": 3},
            {"error": "NOT_LEADER", "min": 1},
        ]
    }
    found = judged(claimed, files=table(tmp_path, "produce", rows))
    assert list(found.values()) == ["Met", "NotMet"]
    assert set(judged(claimed).values()) == {"NotEvaluated"}


def assigned(consumer: str, n: int, at: float, partition: int | None) -> dict[str, Any]:
    topic = None if partition is None else "foo"
    return {
        "consumer": consumer,
        "incarnation": f"u-{consumer}",
        "group": "g",
        "event_seq": n,
        "at": round(at * SECOND),
        "event": "assigned",
        "topic": topic,
        "partition": partition,
    }


def test_rebalances_and_idle_members(tmp_path: Path) -> None:
    rows = [
        assigned("a", 0, 1, 0),
        assigned("a", 1, 1, 1),
        assigned("b", 0, 1, None),
        # Each of these repeats a partition or follows another event: two rebalances more.
        assigned("a", 7, 15, 0),
        assigned("a", 8, 15, 1),
        assigned("a", 9, 16, 0),
        # As the group drains, members leave; that is nobody's fault.
        assigned("a", 20, 55, 0),
    ]
    claimed = {
        "rebalances": [{"group": "g", "min": 2, "max": 2}],
        "unassignedConsumers": [{"group": "g", "min": 1, "max": 1}],
    }
    drains = event(50, "phase", "entered", "Draining")
    found = judged(claimed, drains, files=table(tmp_path, "consumer_events", rows))
    assert found == {"rebalances g": "Met", "unassignedConsumers g": "Met"}
    assert set(judged(claimed).values()) == {"NotEvaluated"}


def test_where_the_records_lie(tmp_path: Path) -> None:
    rows = [
        {"topic": "foo", "key": key, "partition": partition}
        for key, partition in (("a", 0), ("a", 0), ("b", 1))
    ]
    bounds = [{"topic": "foo", "partition": p, "rows_read": n} for p, n in ((0, 3), (1, 0))]
    for row in bounds:
        row["isr"] = [0]
    files = table(tmp_path, "log", rows) | table(tmp_path, "log_end_offsets", bounds)
    claimed = {
        "partitionsPerKey": {"max": 1},
        "nonEmptyPartitions": [{"topic": "foo", "max": 1}],
    }
    assert set(judged(claimed, files=files).values()) == {"Met"}
    rows.append({"topic": "foo", "key": "a", "partition": 1})
    files |= table(tmp_path, "log", rows)
    assert judged(claimed, files=files)["partitionsPerKey"] == "NotMet"


def ran(member: str, node: str) -> Event:
    return event(1, "pod", "scheduled", member, uid=member, member=member, node=node)


@pytest.mark.parametrize(
    ("nodes", "distinct", "apart"),
    [
        (("n1", "n2", "n3"), "Met", "Met"),
        (("n1", "n2", "n2"), "Met", "NotMet"),
        (("n1", "n1", "n2"), "NotMet", "NotMet"),
    ],
)
def test_hosts(nodes: tuple[str, ...], distinct: str, apart: str) -> None:
    members = ("kafka-0", "kafka-1", "zk-0")
    events = [ran(member, node) for member, node in zip(members, nodes, strict=True)]
    assert judged({"nodeSpread": "PerRole"}, *events) == {"nodeSpread": distinct}
    assert judged({"nodeSpread": "AllMembers"}, *events) == {"nodeSpread": apart}
    assert judged({"nodeSpread": "AllMembers"}, *events[1:]) == {"nodeSpread": "NotEvaluated"}


def test_leaders_away_from_their_preferred_replica_at_the_end() -> None:
    assert judged({"nonPreferredLeaders": {"max": 0}}, *CRASH) == {"nonPreferredLeaders": "NotMet"}
    back = [*CRASH, state(50, 0, 0, [0, 1], 3)]
    assert judged({"nonPreferredLeaders": {"max": 0}}, *back) == {"nonPreferredLeaders": "Met"}


def reassign(name: str, *replicas: int) -> dict[str, Any]:
    return {"name": name, "action": "Reassign", "targetReplicas": list(replicas)}


def test_the_preferred_replica_is_that_of_the_last_move() -> None:
    moves = [reassign("away", 1, 0), reassign("back", 0, 1)]
    proof = {"kind": "ReplicasMoved", "subject": "foo-0"}

    def effect(at: float, name: str) -> Event:
        return event(
            at, "fault", "observed", name, verified=True, observations=[proof | {"at": at * SECOND}]
        )

    def found(*events: Event) -> str:
        parts = evidence({"nonPreferredLeaders": {"max": 0}}, *CRASH, *events)
        moved = replace(parts, run=run(parts.run.resolved_spec["expect"], faults=moves))
        return next(iter(expectations.judge(moved))).result

    # Broker 1 leads foo-0 at the end, as the first move wants it and the second does not.
    assert found() == "NotMet"
    assert found(effect(20, "away")) == "Met"
    assert found(effect(20, "away"), effect(30, "back"), effect(31, "away")) == "NotMet"


def test_the_table_of_a_fault_has_the_replicas_of_its_time() -> None:
    observations = [{"kind": "ReplicasMoved", "subject": "foo-0", "at": 5 * SECOND}]
    parts = evidence(
        {}, *CRASH, event(5, "fault", "observed", "away", verified=True, observations=observations)
    )
    moved = replace(parts, run=run({}, faults=[reassign("away", 1, 0)]))
    first, second = partitions.tables(moved.states, moved.windows, moved.end)
    assert (first["replicas"], second["replicas"]) == ([1, 0], [1, 0])


def test_who_is_in_the_isr_at_the_end() -> None:
    claimed = {"inIsr": [{"broker": 0, "max": 0}, {"broker": 1, "min": 2}]}
    assert judged(claimed, *CRASH[:4]) == {"inIsr 0": "Met", "inIsr 1": "Met"}
    assert judged(claimed, *CRASH) == {"inIsr 0": "NotMet", "inIsr 1": "Met"}
    assert set(judged(claimed).values()) == {"NotEvaluated"}


def test_reads_from_a_broker_of_the_own_zone(tmp_path: Path) -> None:
    rows = [
        {
            "group": group,
            "event": "fetching",
            "topic": "foo",
            "partition": partition,
            "detail": f'{{"broker": {broker}, "leader": 0}}',
        }
        for group, partition, broker in (("g", 0, 0), ("g", 0, 1), ("g", 1, 0), ("h", 1, 1))
    ]
    consumer = {"name": "c", "topics": ["foo"], "group": "g", "config": {"client.rack": "b"}}
    claimed = {"closestReplicaFetches": [{"group": "g", "min": 1, "max": 1}]}
    files = table(tmp_path, "consumer_events", rows)
    members = tuple(Member(f"kafka-{i}", MemberKind.KAFKA, i, zone) for i, zone in enumerate("ab"))
    plan = replace(run(claimed, traffic={"consumers": [consumer]}), members=members)
    (found,) = expectations.judge(replace(evidence(claimed, files=files), run=plan))
    assert (found.result, found.seen) == ("Met", "1 partitions read in zone b: foo-0")
    (found,) = expectations.judge(replace(evidence(claimed), run=plan))
    assert found.result == "NotEvaluated"


def test_an_error_that_was_claimed_did_not_come_where_the_run_was_judged() -> None:
    assert judged({"error": "TooFewNodes"}) == {"error": "NotMet"}


@pytest.mark.parametrize(
    ("code", "graceful", "killed"),
    [(143, "Met", "NotMet"), (137, "NotMet", "Met"), (None, "NotMet", "Met")],
)
def test_how_the_process_ended(code: int | None, graceful: str, killed: str) -> None:
    events = [event(20, "pod", "deleted", "t-kafka-0-0", uid="u0")]
    if code is not None:
        events.append(event(15, "member", "exited", "t-kafka-0-0", uid="u0", exitCode=code))
    assert judged(of_fault(shutdown="Graceful"), *events) == {"down.shutdown": graceful}
    assert judged(of_fault(shutdown="Killed"), *events) == {"down.shutdown": killed}
    assert judged(of_fault(shutdown="Killed")) == {"down.shutdown": "NotEvaluated"}


def test_refused_evictions() -> None:
    observations = ({"kind": "EvictionRefused", "subject": "t-kafka-0-0"}, {"kind": "PodDeleted"})
    parts = {"windows": (replace(DOWN, observations=observations),)}
    assert judged(of_fault(blockedEvictions={"min": 1, "max": 1}), **parts) == {
        "down.blockedEvictions": "Met"
    }
    assert judged(of_fault(blockedEvictions={"min": 1})) == {"down.blockedEvictions": "NotMet"}


@pytest.mark.parametrize(
    ("wanted", "result"), [("TimedOut", "Met"), ("Answered", "NotMet"), (None, "NotEvaluated")]
)
def test_what_a_question_got(wanted: str | None, result: str) -> None:
    told = {"request": "CreateTopic", "answer": "TimedOut", "error": "_TIMED_OUT", "took": SECOND}
    asked = [event(13, "admin-request", "answered", "down", **told)] if wanted else []
    late = event(50, "admin-request", "answered", "down", **told | {"answer": "Answered"})
    claimed = of_fault(adminRequests=[{"request": "CreateTopic", "answer": wanted or "TimedOut"}])
    assert judged(claimed, *asked, late) == {"down.adminRequests CreateTopic": result}


def test_kubernetes_word_counts_where_the_wrappers_was_not_seen() -> None:
    def ended(container: str, code: int) -> Event:
        detail = {"uid": "u0", "container": container, "exitCode": code}
        return event(15, "pod", "exited", "t-kafka-0-0", **detail)

    for code, result in ((143, "Met"), (137, "NotMet")):
        events = [ended("krt-crash-down-1", 0), ended("kafka", code)]
        assert judged(of_fault(shutdown="Graceful"), *events) == {"down.shutdown": result}


FETCHED = (
    "[2026-11-21 08:00:00,000] INFO [ReplicaFetcherManager on broker 0] Added fetcher to broker 1 "
    "for partitions HashMap(foo-1 -> InitialFetchState(Some(Yx-1),BrokerEndPoint(id=1, "
    "host=t-kafka-1.ns.svc:9092),2,{}), __consumer_offsets-3 -> InitialFetchState(Some(a),"
    "BrokerEndPoint(id=1, host=t-kafka-1.ns.svc:9092),2,0)) (kafka.server.ReplicaFetcherManager)"
)


@pytest.mark.parametrize(("offset", "start", "end"), [(0, "Met", "NotMet"), (71, "NotMet", "Met")])
def test_from_where_a_returned_broker_fetched(
    tmp_path: Path, offset: int, start: str, end: str
) -> None:
    (tmp_path / "t-kafka-0-0-u9.log").write_text(f"x\n{FETCHED.format(offset)}\n")
    back = event(31, "pod", "added", "t-kafka-0-0", uid="u9", member="kafka-0")
    parts = {"logs": tmp_path}
    assert judged(of_fault(replicaCatchUp="Full"), back, **parts) == {"down.replicaCatchUp": start}
    assert judged(of_fault(replicaCatchUp="Incremental"), back, **parts) == {
        "down.replicaCatchUp": end
    }
    assert judged(of_fault(replicaCatchUp="Incremental"), **parts) == {
        "down.replicaCatchUp": "NotEvaluated"
    }


def test_every_partition_of_a_fetcher_line_is_read() -> None:
    found = [
        (match[0].rsplit("(", 1)[-1], match[3]) for match in FETCHER.findall(FETCHED.format(9))
    ]
    assert found == [("foo", "9"), ("__consumer_offsets", "0")]


def handed(incarnation: str, offset: int) -> dict[str, Any]:
    place = {"group": "g", "topic": "foo", "partition": 0, "offset": offset}
    return {"incarnation": incarnation, "outcome": "ok", **place}


def note(incarnation: str, offset: int) -> dict[str, Any]:
    place = {"group": "g", "topic": "foo", "partition": 0, "offset": offset}
    return {"incarnation": incarnation, "event": "processed", **place}


@pytest.mark.parametrize(
    ("first_note", "second_from", "unprocessed", "twice"),
    [(5, 5, 0, 0), (3, 5, 2, 0), (5, 4, 0, 1), (3, 3, 0, 0)],
)
def test_what_was_processed_never_or_twice(
    tmp_path: Path, first_note: int, second_from: int, unprocessed: int, twice: int
) -> None:
    """The first member got 0..4 and noted some; the second goes on at what was committed."""
    deliveries = [handed("a", offset) for offset in range(5)]
    deliveries += [handed("b", offset) for offset in range(second_from, 8)]
    files = table(tmp_path, "consume", deliveries)
    files |= table(tmp_path, "consumer_events", [note("a", first_note), note("b", 8)])
    traffic = {
        "consumers": [{"name": "c", "topics": ["foo"], "group": "g", "commit": "BeforeProcessing"}]
    }
    claimed = {"unprocessed": "None", "processedTwice": "None"}
    found = replace(evidence(claimed, files=files), run=run(claimed, traffic=traffic))
    numbers = {r.claim: r.numbers["value"] for r in expectations.judge(found)}
    assert numbers == {"unprocessed": unprocessed, "processedTwice": twice}


def test_the_table_of_a_fault_shows_before_worst_and_after() -> None:
    found = evidence({}, *CRASH)
    first, second = partitions.tables(found.states, found.windows, found.end)
    assert (first["fault"], first["topic"], first["partition"]) == ("down", "foo", 0)
    assert first["replicas"] == [0, 1]
    moments = [(first[m]["leader"], first[m]["isr"]) for m in ("before", "worst", "after")]
    assert moments == [(0, [0, 1]), (1, [1]), (1, [0, 1])]
    assert second["replicas"] == [1, 0]


def test_the_termination_message_names_few_claims() -> None:
    assert expectations.told([]) is None
    results = [{"expectation": f"c{i}", "result": "NotMet"} for i in range(9)]
    told = expectations.told([*results, {"expectation": "x", "result": "Met"}])
    assert told == {
        "met": 1,
        "notMet": ["c0", "c1", "c2", "c3", "c4", "and 4 more"],
        "notEvaluated": [],
    }
