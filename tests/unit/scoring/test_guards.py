"""Every guard gives its reason, and a clean run has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import (
    EVENTS,
    INSPECTION,
    LOG_END,
    OUTCOMES,
    RUN,
    TARGETS,
    WRITERS,
    codes,
    event,
    guard_inputs,
    pod,
    without,
)

from krt_contract.bundle import Bundle
from krt_contract.timeline import EventName, Source
from krt_scoring.history.replicas import Partition, Replica
from krt_scoring.inputs.bundle_files import Inspection
from krt_scoring.inputs.footers import Counted
from krt_scoring.inputs.reasons import DELIVERY_ANOMALIES, UNREAD_LOG_ANOMALIES, Reason
from krt_scoring.metrics.counting import OperationCounts
from krt_scoring.metrics.gaps import Gap
from krt_scoring.verdict.guards.registry import GuardInputs, check_all
from krt_scoring.verdict.reasons import extend_to_lost_writes

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_contract.timeline import Event


def ended(at: int, code: int, member: str = "kafka-1", pid: int = 7) -> Event:
    """The end of a member's process."""
    detail = {"member": member, "uid": f"uid-{member}", "pid": pid, "exitCode": code}
    return event(at, Source.MEMBER, EventName.EXITED, f"t-{member}-0", **detail)


def killed(at: int, member: str = "kafka-1", pid: int = 7) -> Event:
    """The kill of a member's process by a fault."""
    detail = {"member": member, "uid": f"uid-{member}", "pid": pid}
    return event(at, Source.MEMBER, EventName.KILLED, f"t-{member}-0", **detail)


def started(at: int, member: str = "kafka-1", pid: int = 7) -> Event:
    """The start of a member's process."""
    detail = {"member": member, "uid": f"uid-{member}", "pid": pid}
    return event(at, Source.MEMBER, EventName.STARTED, f"t-{member}-0", **detail)


def in_phases(*events: Event) -> GuardInputs:
    """The clean run with these events, its phases, and ZooKeeper unavailable from 60 to 70."""
    zookeeper = [{"pod": "t-zk-0-0", "uid": "uid-zk-0", "member": "zk-0"}]
    return guard_inputs(
        (
            *EVENTS,
            event(5, Source.PHASE, EventName.ENTERED, "Warmup"),
            event(95, Source.PHASE, EventName.ENTERED, "CleaningUp"),
            event(60, "fault", "injected", "zk-down", action="CrashPod", targets=zookeeper),
            event(60, "fault", "observed", "zk-down", verified=True),
            event(70, "fault", "recovered", "zk-down"),
            *events,
        )
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([ended(40, 3)], ["MemberOutOfMemory"]),
        ([ended(40, 3), ended(44, 1)], ["MemberEnded", "MemberOutOfMemory"]),
        ([ended(40, 3), ended(44, 3, pid=8)], ["MemberOutOfMemory"]),
        ([ended(15, 3)], ["MemberOutOfMemory"]),
        ([ended(40, 0)], ["MemberEnded"]),
        ([ended(40, 137), killed(39)], []),
        ([ended(40, 137), killed(39, pid=6)], ["MemberEnded"]),
        ([ended(15, 137, "kafka-0")], []),
        ([ended(40, 137, "kafka-0")], ["MemberEnded"]),
        ([ended(65, 1)], []),
        ([ended(4, 1)], []),
        ([ended(96, 143)], []),
        ([started(1), started(40)], ["MemberEnded"]),
        ([started(1), ended(39, 1), started(40)], ["MemberEnded"]),
        ([started(1), killed(39), started(40)], []),
        ([started(40)], []),
        ([started(1), started(3)], []),
        ([started(1), started(97)], []),
        ([started(1, "kafka-0"), started(15, "kafka-0")], []),
        ([started(1, "kafka-0"), started(40, "kafka-0")], []),
        ([started(40, "kafka-0"), started(50, "kafka-0")], ["MemberEnded"]),
        ([started(1), started(80)], []),
        ([started(1), started(40, "kafka-2")], []),
    ],
    ids=[
        "out-of-memory",
        "out-of-memory-then-failed-start",
        "twice-the-same",
        "while-another-member-is-down",
        "in-order",
        "killed-by-a-fault",
        "after-the-process-that-was-killed",
        "target-of-an-open-fault",
        "target-after-it-recovered",
        "while-zookeeper-is-down",
        "before-the-warm-up",
        "while-cleaning-up",
        "started-again-without-an-end",
        "started-again-after-an-end",
        "started-again-after-a-kill",
        "started-for-the-first-time",
        "started-again-before-the-warm-up",
        "started-again-while-cleaning-up",
        "target-started-again-while-its-fault-is-open",
        "target-started-again-after-its-fault",
        "target-started-again-after-a-start-after-its-fault",
        "started-again-after-zookeeper-was-down",
        "another-member-started",
    ],
)
def test_member_that_ends_by_no_fault_is_a_reason(events: list[Event], expected: list[str]) -> None:
    given = in_phases(*events)
    found = [code for _, code, _ in codes(given) if code.startswith("Member")]
    assert sorted(found) == expected


SILENCE = {"stream": "zookeeper", "from": 45, "to": 60}


def states(at: int, *epochs: int) -> tuple[Event, ...]:
    """States of foo-0 with these leader epochs, 10 µs apart; ISR changes lie between them."""
    return tuple(
        event(
            at + 10 * n,
            Source.PARTITION,
            EventName.STATE,
            "foo-0",
            version=3 * n,
            leader=0,
            leader_epoch=epoch,
            isr=[0, 1, 2],
        )
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


def replicas(*dumped: Replica, settled: bool = True) -> Partition:
    """Of foo-0, with brokers 0 and 1 in sync."""
    return Partition(0, "foo", 0, 0, 9, settled=settled, isr=(0, 1), replicas=dumped)


def dumped(rows: int, *partitions: Partition) -> GuardInputs:
    inspection = Inspection(Bundle(Path()), {}, {"replica_log": rows}, WRITERS, {})
    return guard_inputs(replicas=partitions, inspection=inspection)


WHOLE = (Replica(0, 0, 9, 9, ""), Replica(1, 0, 9, 9, ""))


def test_check_all_of_a_clean_run_gives_no_reason() -> None:
    assert codes(guard_inputs()) == []


CASES: dict[str, tuple[GuardInputs, tuple[str, str, str]]] = {
    "a replica in sync was not dumped": (
        dumped(9, replicas(WHOLE[0])),
        ("coverage", "ReplicaNotDumped", "foo-0 on broker 1"),
    ),
    "a replica in sync was not dumped whole": (
        dumped(13, replicas(WHOLE[0], Replica(1, 0, 4, 4, "it broke off"))),
        ("coverage", "ReplicaNotDumped", "foo-0 on broker 1"),
    ),
    "the controller was away": (
        guard_inputs((*EVENTS, event(40, "guard", "OperatorInterrupted", "f", kind="coverage"))),
        ("coverage", "OperatorInterrupted", "f"),
    ),
    "the controller could not settle the log": (
        guard_inputs((*EVENTS, event(40, "guard", "LogNotStable", "foo-0", kind="evidence"))),
        ("evidence", "LogNotStable", "foo-0"),
    ),
    "no effect was proved": (
        guard_inputs(without(("fault", "observed"))),
        ("coverage", "FaultNotVerified", "leader-down"),
    ),
    "a fault was never injected": (
        guard_inputs(tuple(item for item in EVENTS if item.source != "fault")),
        ("coverage", "FaultSkipped", "leader-down"),
    ),
    "the recorder has a gap": (
        guard_inputs((*EVENTS, event(50, "recorder", "gap", "recorder", stream="pods", to=60))),
        ("coverage", "TimelineGap", "pods"),
    ),
    "a partition had an unseen leader in a gap of ZooKeeper": (
        guard_inputs(
            (*EVENTS, *states(40, 1, 3), event(50, "recorder", "gap", "recorder", **SILENCE)),
            run=lossy("1"),
        ),
        ("coverage", "TimelineGap", "zookeeper"),
    ),
    "a partition had an unseen leader while the recorder was ownership up": (
        guard_inputs(
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
        guard_inputs((*EVENTS, event(50, "recorder", "gap", "recorder", stream="recorder", to=60))),
        ("coverage", "TimelineGap", "recorder"),
    ),
    "the recorder did not end": (
        guard_inputs(without(("recorder", "stopped"))),
        ("coverage", "TimelineGap", "recorder"),
    ),
    "a pod vanished": (
        guard_inputs((*without(("pod", "exited")), pod(80, "deleted", "c0", "consumer"))),
        ("coverage", "TrafficPodLost", "t-c0"),
    ),
    "a producer has no close record": (
        guard_inputs(
            inspection=replace(
                INSPECTION, incarnations={**WRITERS, "producer_summary": frozenset()}
            )
        ),
        ("evidence", "ProducerSummaryMissing", "p-0"),
    ),
    "a ledger of another run": (
        guard_inputs(
            inspection=replace(
                INSPECTION,
                incarnations={**WRITERS, "consume": frozenset({("c-0", "c0"), ("c-0", "other")})},
            )
        ),
        ("evidence", "MixedRuns", "consume/c-0"),
    ),
    "a writer the plan does not name": (
        guard_inputs(
            inspection=replace(
                INSPECTION,
                incarnations={**WRITERS, "consume": frozenset({("c-7", "c0")})},
            )
        ),
        ("evidence", "MixedRuns", "consume/c-7"),
    ),
    "the log was not settled": (
        guard_inputs(log_ends=(replace(LOG_END, settled=False),)),
        ("evidence", "LogNotStable", "foo-0"),
    ),
    "the log was not read to its end": (
        guard_inputs(log_ends=(replace(LOG_END, read_to=8),)),
        ("evidence", "LogNotRead", "foo-0"),
    ),
    "a partition has no bounds": (
        guard_inputs(log_ends=(replace(LOG_END, topic="bar"),)),
        ("evidence", "LogNotRead", "foo-0"),
    ),
    "deliveries are gone": (
        guard_inputs(
            inspection=replace(
                INSPECTION,
                rows={"log": 9},
                counters={("c-0", "c0"): Counted(rows=7, highest=9)},
            )
        ),
        ("evidence", "RowsMissing", "c-0"),
    ),
    "records of the log are gone": (
        guard_inputs(
            log_ends=(replace(LOG_END, rows_read=9),),
            inspection=replace(INSPECTION, rows={"log": 8}),
        ),
        ("evidence", "RowsMissing", "log"),
    ),
    "a loss that a change of leadership may permit": (
        guard_inputs(run=lossy(), violations={"lost-write": 1}),
        ("evidence", "LeadersUnknown", "foo"),
    ),
    "nothing was sent": (
        guard_inputs(ledger={"attempted": 0}),
        ("coverage", "EmptyRun", "traffic"),
    ),
    "nothing was acked": (
        guard_inputs(ledger={"attempted": 5, "acked": 0}),
        ("coverage", "TooFewOperations", "run"),
    ),
    "clocks disagree": (
        guard_inputs(
            counts=OperationCounts(outcomes=dict(OUTCOMES), skew=50_000),
            gaps=(Gap("write", "", "foo", 0, 0, 40_000),),
        ),
        ("evidence", "ClocksDisagree", "clocks"),
    ),
    "the baseline hides every gap": (
        guard_inputs(detection_limits={("read", "g"): 21_000_000, ("write", ""): 14_000_000}),
        ("coverage", "BaselineTooSlow", "read g"),
    ),
    "too many unknown outside the faults": (
        guard_inputs(counts=OperationCounts(outcomes={**OUTCOMES, ("after", "unknown"): 100})),
        ("coverage", "TooManyUnknown", "run"),
    ),
    **{
        f"too little {part}": (
            guard_inputs(
                counts=OperationCounts(
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
def test_check_all_of_a_damaged_run_gives_its_reason_alone(name: str) -> None:
    found, expected = CASES[name]
    assert codes(found) == [expected]


def test_replica_dumps_of_dumped_replicas_gives_no_reason() -> None:
    assert codes(dumped(18, replicas(*WHOLE))) == []
    # Whoever is not in sync is not compared, and a log that did not settle has its own reason.
    behind = Replica(2, 0, 4, 4, "it broke off")
    assert codes(dumped(22, replicas(*WHOLE, behind))) == []
    assert codes(dumped(9, replicas(WHOLE[0], settled=False))) == []


def test_replica_dumps_with_missing_rows_invalidates_replica_divergence_alone() -> None:
    (reason,) = check_all(dumped(17, replicas(*WHOLE)))
    assert (reason.kind, reason.code) == ("evidence", "RowsMissing")
    assert reason.invalidates == ("replica-divergence",)


def test_unknown_leaders_where_leadership_permits_nothing_gives_no_reason() -> None:
    lost = {"lost-write": 1}
    assert codes(guard_inputs(run=lossy("all"), violations=lost)) == []
    assert codes(guard_inputs(run=lossy("1"))) == []
    unclean = lossy("all", **{"unclean.leader.election.enable": "true"})
    unknown = [("evidence", "LeadersUnknown", "foo")]
    assert codes(guard_inputs(run=unclean, violations={"commit-rewind": 1})) == unknown
    assert codes(guard_inputs((*EVENTS, *states(40, 1)), run=unclean, violations=lost)) == []


def test_log_stability_of_an_unread_log_spares_lost_write() -> None:
    (reason,) = check_all(guard_inputs(log_ends=(replace(LOG_END, topic="bar"),)))
    assert reason.code == "LogNotRead"
    assert "unseen" in reason.invalidates
    assert "lost-write" not in reason.invalidates
    (partly,) = check_all(guard_inputs(log_ends=(replace(LOG_END, read_to=8),)))
    assert "lost-write" in partly.invalidates


def test_extend_to_lost_writes_follows_the_order_of_deliveries() -> None:
    deliveries = Reason("evidence", "FileMissing", "consume/x", "", DELIVERY_ANOMALIES)
    log = Reason("evidence", "FileMissing", "log_end_offsets", "", UNREAD_LOG_ANOMALIES)
    coverage = Reason("coverage", "GroupNotDrained", "g", "")
    found = extend_to_lost_writes((deliveries, log, coverage))
    assert ["lost-write" in reason.invalidates for reason in found] == [True, False, False]


def test_unknown_outcomes_during_a_fault_gives_no_reason() -> None:
    counts = OperationCounts(outcomes={**OUTCOMES, ("during", "unknown"): 400})
    assert codes(guard_inputs(counts=counts)) == []


def test_clock_skew_below_the_shortest_gap_gives_no_reason() -> None:
    counts = OperationCounts(outcomes=dict(OUTCOMES), skew=30_000)
    gaps = (Gap("write", "", "foo", 0, 0, 40_000),)
    assert codes(guard_inputs(counts=counts, gaps=gaps)) == []


def test_timeline_gaps_before_the_first_send_gives_no_reason() -> None:
    gap = event(3, "recorder", "gap", "recorder", **{"from": 2, "to": 3})
    sends = {("produce", "scheduled_at"): (4, 90)}
    begun = Inspection(Bundle(Path()), {}, {}, WRITERS, sends)
    assert codes(guard_inputs((*EVENTS, gap), inspection=begun)) == []
    at_first = event(5, "recorder", "gap", "recorder", **{"from": 2, "to": 5})
    assert codes(guard_inputs((*EVENTS, at_first), inspection=begun)) == [
        ("coverage", "TimelineGap", "recorder")
    ]


def test_timeline_gaps_of_the_evidence_store_are_not_kafkas_doing() -> None:
    gaps = [
        event(50 + at, "recorder", "gap", "recorder", stream="evidence", **{"from": at, "to": to})
        for at, to in ((40, 50), (41, 52), (51, 53))
    ]
    (reason,) = check_all(guard_inputs((*EVENTS, *gaps)))
    assert (reason.code, reason.subject) == ("TimelineGap", "evidence")
    assert "not Kafka's doing" in reason.message
    assert "from 40 " in reason.message


@pytest.mark.parametrize("stream", ["zookeeper", "process"])
def test_timeline_gaps_that_hid_no_leader_gives_no_reason(stream: str) -> None:
    gap = event(50, "recorder", "gap", "recorder", **{**SILENCE, "stream": stream})
    seen = (*EVENTS, *states(40, 1, 2), gap)
    assert list(check_all(guard_inputs(seen, run=lossy("1")))) == []


def test_timeline_gaps_with_an_unseen_leader_depends_on_what_leaders_permit() -> None:
    seen = (*EVENTS, *states(40, 1, 3), event(50, "recorder", "gap", "recorder", **SILENCE))
    gap = [("coverage", "TimelineGap", "zookeeper")]
    assert codes(guard_inputs(seen, run=lossy("all"))) == []
    unclean = lossy("all", **{"unclean.leader.election.enable": "true"})
    assert codes(guard_inputs(seen, run=unclean)) == gap
    emptied = event(10, "fault", "injected", "leader-down", action="LoseDisk", targets=TARGETS)
    assert codes(guard_inputs((*seen, emptied), run=lossy("all"))) == gap


ENDED_SILENT = event(98, "recorder", "gap", "recorder", **SILENCE | {"to": 98, "atEnd": True})
"""ZooKeeper gave no answer from 45 µs until the recorder ended."""

LAST_DELIVERY = replace(INSPECTION, times={("consume", "delivered_at"): (5, 90)})
LOST = {"lost-write": 1}
UNKNOWN = ("evidence", "LeadersUnknown", "foo")
ENDS_IN_GAP = ("coverage", "TimelineGap", "zookeeper")


def test_timeline_gaps_of_a_silence_to_the_end_names_the_partitions() -> None:
    (reason,) = check_all(guard_inputs((*EVENTS, ENDED_SILENT), inspection=LAST_DELIVERY))
    assert (reason.kind, reason.code, reason.subject) == ENDS_IN_GAP
    assert "foo-0" in reason.message


def test_timeline_gaps_of_a_silence_after_the_last_operation_gives_no_reason() -> None:
    before = replace(INSPECTION, times={("consume", "delivered_at"): (5, 44)})
    assert codes(guard_inputs((*EVENTS, ENDED_SILENT), inspection=before)) == []


def test_timeline_gaps_of_a_silence_before_a_later_recorder_gives_no_reason() -> None:
    later = event(98, "recorder", "started", "recorder")
    seen = (*EVENTS, replace(ENDED_SILENT, at=97), later)
    assert codes(guard_inputs(seen, inspection=LAST_DELIVERY)) == []


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("a silence to the end", (*EVENTS, *states(40, 1), ENDED_SILENT)),
        ("a recorder that broke off", (*without(("recorder", "stopped")), *states(40, 1))),
        ("a missing epoch", (*EVENTS, *states(40, 1, 3))),
    ],
)
def test_unknown_leaders_of_unseen_states_invalidates_a_loss_that_they_may_permit(
    name: str, events: tuple[Event, ...]
) -> None:
    def unknown(run: Plan, **violations: int) -> bool:
        found = guard_inputs(
            events,
            run=run,
            inspection=LAST_DELIVERY,
            violations={key.replace("_", "-"): count for key, count in violations.items()},
        )
        return UNKNOWN in codes(found)

    unclean = lossy("all", **{"unclean.leader.election.enable": "true"})
    assert unknown(lossy("1"), lost_write=1), name
    assert unknown(unclean, commit_rewind=1), name
    assert not unknown(lossy("all"), lost_write=1), name
    assert not unknown(lossy("1"), key_order=1), name
    assert not unknown(lossy("1")), name


def test_unknown_leaders_of_seen_states_leaves_a_loss_a_violation() -> None:
    seen = (*EVENTS, *states(40, 1, 2))
    found = guard_inputs(seen, run=lossy("1"), inspection=LAST_DELIVERY, violations=LOST)
    assert codes(found) == []


def test_unknown_leaders_of_states_without_a_version_gives_no_reason() -> None:
    state = {"leader": 0, "leader_epoch": 1, "isr": [0, 1, 2]}
    seen = (*EVENTS, event(40, Source.PARTITION, EventName.STATE, "foo-0", **state))
    assert codes(guard_inputs(seen, run=lossy("1"), violations=LOST)) == []


@pytest.mark.parametrize(
    ("message", "ending"),
    [
        ('{"kind": "recorder", "error": "the volume is full. Free space"}', "Free space"),
        ('{"kind": "recorder", "error": null}', "Run the test again"),
        ("Traceback", "Run the test again"),
    ],
)
def test_timeline_gaps_of_a_replaced_recorder_names_what_ended_it(
    message: str, ending: str
) -> None:
    gap = event(50, "recorder", "gap", "recorder", stream="recorder", to=60)
    ended = pod(50, "exited", "r0", "recorder", exitCode=5, message=message)
    (reason,) = check_all(guard_inputs((*EVENTS, ended, gap)))
    assert reason.code == "TimelineGap"
    assert reason.message.endswith(ending)
