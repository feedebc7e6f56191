"""Every reason for Inconclusive, and the clean run that has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from krt_contract.bundle import Bundle
from krt_contract.plan import Plan
from krt_contract.timeline import Event
from krt_scoring.history.faults import FOREVER
from krt_scoring.history.ownership import Interval
from krt_scoring.history.replicas import Partition, Replica
from krt_scoring.inputs.fault_windows import fault_windows
from krt_scoring.inputs.inspection import Counted, Inspection
from krt_scoring.inputs.reasons import (
    DELIVERY_ANOMALIES,
    UNREAD_LOG_ANOMALIES,
    Reason,
    by_deliveries,
)
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics.gaps import Gap
from krt_scoring.metrics.operations import Operations
from krt_scoring.selftest import guard_checks
from krt_scoring.verdict import guards
from krt_scoring.verdict.guards.facts import Bound, Facts

TARGETS = [{"pod": "t-kafka-0-0", "uid": "uid-kafka-0", "member": "kafka-0"}]


def event(at: int, source: str, name: str, subject: str, **detail: Any) -> Event:
    return Event(at, at, source, name, subject, detail)


def pod(at: int, name: str, uid: str, component: str, **detail: Any) -> Event:
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
OUTCOMES = {
    ("startup", "acked"): 500,
    ("before", "acked"): 500,
    ("during", "acked"): 500,
    ("after", "acked"): 500,
}
BOUND = Bound("foo", 0, settled=True, read_from=0, read_to=9, log_start=0, high_watermark=9)


SILENCE = {"stream": "zookeeper", "from": 45, "to": 60}


def states(at: int, *epochs: int) -> tuple[Event, ...]:
    """States of foo-0 with these leader epochs, 10 µs apart; ISR changes lie between them."""
    return tuple(
        event(at + 10 * n, "partition", "state", "foo-0", version=3 * n, leader_epoch=epoch)
        for n, epoch in enumerate(epochs)
    )


def lossy(acks: str = "1", **config: str) -> Plan:
    """The run with other acks or settings of its topic."""
    producer = {"name": "p", "topic": "foo", "acks": acks}
    traffic = {**RUN.resolved_spec["traffic"], "producers": [producer]}
    return replace(
        RUN,
        resolved_spec={**RUN.resolved_spec, "traffic": traffic},
        topics=(replace(RUN.topics[0], config=config),),
    )


def facts(events: tuple[Event, ...] = EVENTS, **changes: Any) -> Facts:
    line = Timeline(events)
    whole = Facts(
        run=RUN,
        inspection=Inspection(Bundle(Path()), {}, {}, WRITERS, {}),
        timeline=line,
        windows=fault_windows(line),
        operations=Operations(outcomes=dict(OUTCOMES)),
        bounds=(BOUND,),
        ledger={"attempted": 2000, "acked": 2000},
        gaps=(),
        thresholds={("write", ""): 60_000, ("read", "g"): 60_000},
    )
    return replace(whole, **changes)


def codes(found: Facts) -> list[tuple[str, str, str]]:
    return [(reason.kind, reason.code, reason.subject) for reason in guards.check(found)]


def without(*dropped: tuple[str, str]) -> tuple[Event, ...]:
    return tuple(item for item in EVENTS if (item.source, item.event) not in dropped)


def replicas(*dumped: Replica, settled: bool = True) -> Partition:
    """Of foo-0, with brokers 0 and 1 in sync."""
    return Partition(0, "foo", 0, 0, 9, settled=settled, isr=(0, 1), replicas=dumped)


def dumped(rows: int, *partitions: Partition) -> Facts:
    inspection = Inspection(Bundle(Path()), {}, {"replica_log": rows}, WRITERS, {})
    return facts(replicas=partitions, inspection=inspection)


WHOLE = (Replica(0, 0, 9, 9, ""), Replica(1, 0, 9, 9, ""))


def test_replicas_that_were_dumped_are_no_reason() -> None:
    assert codes(dumped(18, replicas(*WHOLE))) == []
    # Whoever is not in sync is not compared, and a log that did not settle has its own reason.
    behind = Replica(2, 0, 4, 4, "it broke off")
    assert codes(dumped(22, replicas(*WHOLE, behind))) == []
    assert codes(dumped(9, replicas(WHOLE[0], settled=False))) == []


def test_rows_of_replicas_that_are_gone_void_their_comparison_alone() -> None:
    (reason,) = guards.check(dumped(17, replicas(*WHOLE)))
    assert (reason.kind, reason.code) == ("evidence", "RowsMissing")
    assert reason.invalidates == ("replica-divergence",)


def test_a_clean_run_has_no_reason() -> None:
    assert codes(facts()) == []


CASES: dict[str, tuple[Facts, tuple[str, str, str]]] = {
    "a replica in sync was not dumped": (
        dumped(9, replicas(WHOLE[0])),
        ("coverage", "ReplicaNotDumped", "foo-0 on broker 1"),
    ),
    "a replica in sync was not dumped whole": (
        dumped(13, replicas(WHOLE[0], Replica(1, 0, 4, 4, "it broke off"))),
        ("coverage", "ReplicaNotDumped", "foo-0 on broker 1"),
    ),
    "the controller was away": (
        facts((*EVENTS, event(40, "guard", "OperatorInterrupted", "f", kind="coverage"))),
        ("coverage", "OperatorInterrupted", "f"),
    ),
    "the controller could not settle the log": (
        facts((*EVENTS, event(40, "guard", "LogNotStable", "foo-0", kind="evidence"))),
        ("evidence", "LogNotStable", "foo-0"),
    ),
    "no effect was proved": (
        facts(without(("fault", "observed"))),
        ("coverage", "FaultNotVerified", "leader-down"),
    ),
    "a fault was never injected": (
        facts(tuple(item for item in EVENTS if item.source != "fault")),
        ("coverage", "FaultSkipped", "leader-down"),
    ),
    "the recorder has a gap": (
        facts((*EVENTS, event(50, "recorder", "gap", "recorder", stream="pods", to=60))),
        ("coverage", "TimelineGap", "pods"),
    ),
    "a partition had an unseen leader in a gap of ZooKeeper": (
        facts(
            (*EVENTS, *states(40, 1, 3), event(50, "recorder", "gap", "recorder", **SILENCE)),
            run=lossy("1"),
        ),
        ("coverage", "TimelineGap", "zookeeper"),
    ),
    "a partition had an unseen leader while the recorder was held up": (
        facts(
            (
                *EVENTS,
                *states(40, 1, 3),
                event(50, "recorder", "gap", "recorder", **{**SILENCE, "stream": "process"}),
            ),
            run=lossy("1"),
        ),
        ("coverage", "TimelineGap", "process"),
    ),
    "the recorder was replaced": (
        facts((*EVENTS, event(50, "recorder", "gap", "recorder", stream="recorder", to=60))),
        ("coverage", "TimelineGap", "recorder"),
    ),
    "the recorder did not end": (
        facts(without(("recorder", "stopped"))),
        ("coverage", "TimelineGap", "recorder"),
    ),
    "a pod vanished": (
        facts((*without(("pod", "exited")), pod(80, "deleted", "c0", "consumer"))),
        ("coverage", "TrafficPodLost", "t-c0"),
    ),
    "a producer has no close record": (
        facts(
            inspection=replace(
                facts().inspection, incarnations={**WRITERS, "producer_summary": frozenset()}
            )
        ),
        ("evidence", "ProducerSummaryMissing", "p-0"),
    ),
    "a ledger of another run": (
        facts(
            inspection=replace(
                facts().inspection,
                incarnations={**WRITERS, "consume": frozenset({("c-0", "c0"), ("c-0", "other")})},
            )
        ),
        ("evidence", "MixedRuns", "consume/c-0"),
    ),
    "a writer the plan does not name": (
        facts(
            inspection=replace(
                facts().inspection,
                incarnations={**WRITERS, "consume": frozenset({("c-7", "c0")})},
            )
        ),
        ("evidence", "MixedRuns", "consume/c-7"),
    ),
    "the log was not settled": (
        facts(bounds=(replace(BOUND, settled=False),)),
        ("evidence", "LogNotStable", "foo-0"),
    ),
    "the log was not read to its end": (
        facts(bounds=(replace(BOUND, read_to=8),)),
        ("evidence", "LogNotRead", "foo-0"),
    ),
    "a partition has no bounds": (
        facts(bounds=(replace(BOUND, topic="bar"),)),
        ("evidence", "LogNotRead", "foo-0"),
    ),
    "deliveries are gone": (
        facts(
            inspection=replace(
                facts().inspection,
                rows={"log": 9},
                counters={("c-0", "c0"): Counted(rows=7, highest=9)},
            )
        ),
        ("evidence", "RowsMissing", "c-0"),
    ),
    "records of the log are gone": (
        facts(
            bounds=(replace(BOUND, rows_read=9),),
            inspection=replace(facts().inspection, rows={"log": 8}),
        ),
        ("evidence", "RowsMissing", "log"),
    ),
    "a loss that a change of leadership may permit": (
        facts(run=lossy(), violations={"lost-write": 1}),
        ("evidence", "LeadersUnknown", "foo"),
    ),
    "nothing was sent": (
        facts(ledger={"attempted": 0}),
        ("coverage", "EmptyRun", "traffic"),
    ),
    "nothing was acked": (
        facts(ledger={"attempted": 5, "acked": 0}),
        ("coverage", "TooFewOperations", "run"),
    ),
    "clocks disagree": (
        facts(
            operations=Operations(outcomes=dict(OUTCOMES), skew=50_000),
            gaps=(Gap("write", "", "foo", 0, 0, 40_000),),
        ),
        ("evidence", "ClocksDisagree", "clocks"),
    ),
    "the baseline hides every gap": (
        facts(thresholds={("read", "g"): 21_000_000, ("write", ""): 14_000_000}),
        ("coverage", "BaselineTooSlow", "read g"),
    ),
    "too many unknown outside the faults": (
        facts(operations=Operations(outcomes={**OUTCOMES, ("after", "unknown"): 100})),
        ("coverage", "TooManyUnknown", "run"),
    ),
    **{
        f"too little {part}": (
            facts(
                operations=Operations(
                    outcomes={k: v for k, v in OUTCOMES.items() if k[0] not in dropped}
                )
            ),
            ("coverage", "TooFewOperations", part),
        )
        for part, dropped in (
            ("before", ("startup", "before")),
            ("during", ("during",)),
            ("after", ("after",)),
        )
    },
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_reason(name: str) -> None:
    found, wanted = CASES[name]
    assert codes(found) == [wanted]


def test_a_killed_producer_needs_no_close_record() -> None:
    targets = [{"uid": "p0", "member": "producer-p-0"}]
    events = tuple(
        replace(item, detail={**item.detail, "targets": targets})
        if item.event == "injected"
        else item
        for item in EVENTS
    )
    inspection = replace(
        facts().inspection, incarnations={**WRITERS, "producer_summary": frozenset()}
    )
    assert codes(facts(events, inspection=inspection)) == []


def test_the_timeline_itself_can_prove_a_crash() -> None:
    killed = event(11, "member", "exited", "t-kafka-0-0", uid="uid-kafka-0", exitCode=137)
    assert codes(facts((*without(("fault", "observed")), killed))) == []


def test_the_timeline_itself_can_prove_a_freeze() -> None:
    changed = {"action": "FreezePod", "targets": TARGETS}
    events = tuple(
        replace(item, detail=changed) if item.event == "injected" else item
        for item in without(("fault", "observed"))
    )
    assert codes(facts(events)) == [("coverage", "FaultNotVerified", "leader-down")]
    frozen = event(10, "member", "frozen", "t-kafka-0-0", uid="uid-kafka-0")
    assert codes(facts((*events, frozen))) == []


def test_a_crash_of_two_is_not_proved_by_the_death_of_one() -> None:
    two = {"action": "CrashPod", "targets": [*TARGETS, {"uid": "uid-kafka-1"}]}
    killed = event(11, "member", "killed", "t-kafka-0-0", uid="uid-kafka-0")
    events = tuple(
        replace(item, detail=two) if item.event == "injected" else item
        for item in without(("fault", "observed"))
    )
    assert codes(facts((*events, killed))) == [("coverage", "FaultNotVerified", "leader-down")]


STRUCK = (
    event(0, "recorder", "started", "recorder"),
    event(10, "fault", "injected", "leader-down", action="FreezePod", targets=[{"uid": "c0"}]),
    event(10, "fault", "observed", "leader-down", verified=True),
    event(10 + 60 * 10**6, "fault", "reverted", "leader-down"),
    event(10 + 80 * 10**6, "fault", "recovered", "leader-down"),
    event(99 * 10**6, "recorder", "stopped", "recorder"),
)
"""A consumer frozen for 60 s, longer than the client's session of 45 s."""


def owned(incarnation: str, begin: int, group: int = 0, tp: int = 0) -> Interval:
    return Interval(0, group, tp, "c-0", incarnation, 0, FOREVER, begin, FOREVER, 0, None)


def test_a_member_away_for_longer_than_its_session_must_have_left() -> None:
    held = owned("c0", 5)
    unseen = facts(STRUCK, ownerships=(held,))
    assert codes(unseen) == [("coverage", "FaultNotVerified", "leader-down")]
    assert codes(facts(STRUCK, ownerships=(held, owned("c1", 4)))) == codes(unseen)
    assert codes(facts(STRUCK, ownerships=(held, owned("c1", 50, tp=1)))) == codes(unseen)
    # Somebody else got what it owned; it owned nothing; it was away for less than a session.
    assert codes(facts(STRUCK, ownerships=(held, owned("c1", 50)))) == []
    assert codes(facts(STRUCK, ownerships=(owned("c1", 5),))) == []
    short = tuple(
        replace(item, at=40 * 10**6) if item.event == "reverted" else item for item in STRUCK
    )
    assert codes(facts(short, ownerships=(held,))) == []


def test_the_controller_may_have_seen_a_member_leave() -> None:
    observations = [{"kind": "MemberLeft", "subject": "t-c0"}]
    events = tuple(
        replace(item, detail={"verified": True, "observations": observations})
        if item.event == "observed"
        else item
        for item in STRUCK
    )
    assert codes(facts(events, ownerships=(owned("c0", 5),))) == []


def test_a_killed_consumer_may_have_counted_what_it_did_not_write() -> None:
    targets = [{"uid": "c0", "member": "consumer-c-0"}]
    events = tuple(
        replace(item, detail={**item.detail, "targets": targets})
        if item.event == "injected"
        else item
        for item in EVENTS
    )
    counters = {("c-0", "c0"): Counted(rows=7, highest=9)}
    assert codes(facts(events, inspection=replace(facts().inspection, counters=counters))) == []


def test_where_leadership_permits_nothing_it_need_not_be_known() -> None:
    lost = {"lost-write": 1}
    assert codes(facts(run=lossy("all"), violations=lost)) == []
    assert codes(facts(run=lossy("1"))) == []
    unclean = lossy("all", **{"unclean.leader.election.enable": "true"})
    unknown = [("evidence", "LeadersUnknown", "foo")]
    assert codes(facts(run=unclean, violations={"commit-rewind": 1})) == unknown
    assert codes(facts((*EVENTS, *states(40, 1)), run=unclean, violations=lost)) == []


def test_a_log_nobody_read_leaves_lost_write_to_the_deliveries() -> None:
    (reason,) = guards.check(facts(bounds=(replace(BOUND, topic="bar"),)))
    assert reason.code == "LogNotRead"
    assert "unseen" in reason.invalidates
    assert "lost-write" not in reason.invalidates
    (partly,) = guards.check(facts(bounds=(replace(BOUND, read_to=8),)))
    assert "lost-write" in partly.invalidates


def test_losses_told_by_deliveries_rest_on_what_deliveries_rest_on() -> None:
    deliveries = Reason("evidence", "FileMissing", "consume/x", "", DELIVERY_ANOMALIES)
    log = Reason("evidence", "FileMissing", "log_end_offsets", "", UNREAD_LOG_ANOMALIES)
    coverage = Reason("coverage", "GroupNotDrained", "g", "")
    found = by_deliveries((deliveries, log, coverage))
    assert ["lost-write" in reason.invalidates for reason in found] == [True, False, False]


def test_unknown_sends_during_a_fault_are_no_reason() -> None:
    operations = Operations(outcomes={**OUTCOMES, ("during", "unknown"): 400})
    assert codes(facts(operations=operations)) == []


def test_clocks_may_disagree_by_less_than_the_shortest_gap() -> None:
    operations = Operations(outcomes=dict(OUTCOMES), skew=30_000)
    gaps = (Gap("write", "", "foo", 0, 0, 40_000),)
    assert codes(facts(operations=operations, gaps=gaps)) == []


def test_a_gap_before_the_first_send_hides_nothing() -> None:
    gap = event(3, "recorder", "gap", "recorder", **{"from": 2, "to": 3})
    sends = {("produce", "scheduled_at"): (4, 90)}
    begun = Inspection(Bundle(Path()), {}, {}, WRITERS, sends)
    assert codes(facts((*EVENTS, gap), inspection=begun)) == []
    at_first = event(5, "recorder", "gap", "recorder", **{"from": 2, "to": 5})
    assert codes(facts((*EVENTS, at_first), inspection=begun)) == [
        ("coverage", "TimelineGap", "recorder")
    ]


@pytest.mark.parametrize("stream", ["zookeeper", "process"])
def test_a_silence_that_hid_no_leader_is_no_gap(stream: str) -> None:
    gap = event(50, "recorder", "gap", "recorder", **{**SILENCE, "stream": stream})
    seen = (*EVENTS, *states(40, 1, 2), gap)
    assert list(guards.check(facts(seen, run=lossy("1")))) == []


def test_an_unseen_leader_hides_nothing_where_no_leader_permits_anything() -> None:
    seen = (*EVENTS, *states(40, 1, 3), event(50, "recorder", "gap", "recorder", **SILENCE))
    gap = [("coverage", "TimelineGap", "zookeeper")]
    assert codes(facts(seen, run=lossy("all"))) == []
    unclean = lossy("all", **{"unclean.leader.election.enable": "true"})
    assert codes(facts(seen, run=unclean)) == gap
    emptied = event(10, "fault", "injected", "leader-down", action="LoseDisk", targets=TARGETS)
    assert codes(facts((*seen, emptied), run=lossy("all"))) == gap


def test_each_guard_put_to_the_test_gives_its_reason_and_no_other() -> None:
    told, lacking = guard_checks.run(facts())
    assert [item.as_dict() for item in told if not item.found] == []
    assert {item.name for item in told} == {kind.name for kind in guard_checks.KINDS}
    assert lacking == {}


def test_a_guard_that_does_not_speak_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    left = tuple(guard for guard in guards.GUARDS if guard is not guards.vanished)
    monkeypatch.setattr(guards, "GUARDS", left)
    told, _ = guard_checks.run(facts())
    assert [item.name for item in told if not item.found] == ["vanished-pod"]


def test_what_a_guard_says_already_is_not_tried() -> None:
    unsettled = replace(BOUND, settled=False)
    _, lacking = guard_checks.run(facts(without(("recorder", "stopped")), bounds=(unsettled,)))
    assert set(lacking) == {"unsettled-log", "unread-log", "unrecorded-end"}
