"""Expectations about one fault, other than leaders and ISRs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import (
    CRASH,
    DOWN,
    SECOND,
    of_fault,
    results,
    second_event,
)

from krt_scoring.expectations.broker_return import FETCHER
from krt_scoring.metrics.gaps import Gap, PartitionOperations
from krt_scoring.metrics.recovery import Recovery

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.timeline import Event


@pytest.mark.parametrize("parts", [{"verified": {"down": False}}, {"faults": ()}])
def test_evaluate_fault_not_verified_is_not_evaluated(parts: dict[str, Any]) -> None:
    expect = of_fault(leaderChanges={"min": 1}, unavailability=[])
    assert results(expect, *CRASH, **parts) == {"down.leaderChanges": "NotEvaluated"}


def test_evaluate_fault_without_states_is_not_evaluated() -> None:
    expect = of_fault(
        leaderChanges={"max": 0},
        isrShrinks={"max": 0},
        brokerSessionExpirations={"max": 0},
        isrRestoredAfter={"max": "5s"},
    )
    at = DOWN.injected_at or 0
    restored = (Recovery("down", at, at, None, 0, complete=True, affected=False),)
    assert set(results(expect, recoveries=restored).values()) == {"NotEvaluated"}


def test_evaluate_coordination_changes_counts_within_the_span() -> None:
    events = [
        second_event(1, "broker", "registered", "0"),
        second_event(16, "broker", "unregistered", "0"),
        second_event(1, "controller", "elected", "0"),
        second_event(17, "controller", "elected", "1"),
        second_event(1, "zookeeper", "leader", "zk-1"),
        second_event(20, "zookeeper", "quorum-lost", "zk-1"),
        second_event(50, "zookeeper", "leader", "zk-2"),
    ]
    expect = of_fault(
        brokerSessionExpirations={"min": 1, "max": 1},
        controllerChanges={"min": 1, "max": 1},
        zookeeperLeaderChanges={"max": 0},
        quorumLosses={"max": 0},
    )
    found = results(expect, *events)
    assert [
        found[f"down.{name}"] for name in ("brokerSessionExpirations", "controllerChanges")
    ] == ["Met"] * 2
    assert found["down.zookeeperLeaderChanges"] == "Met"
    assert found["down.quorumLosses"] == "NotMet"


@pytest.mark.parametrize("until_the_end", [True, False])
def test_evaluate_coordination_changes_after_the_last_record_are_not_known(
    until_the_end: bool,
) -> None:
    events = [
        second_event(0, "recorder", "started", "r"),
        second_event(1, "broker", "registered", "0"),
        second_event(1, "controller", "elected", "0"),
        *([second_event(60, "recorder", "stopped", "r")] if until_the_end else []),
    ]
    expect = of_fault(brokerSessionExpirations={"min": 1}, controllerChanges={"max": 0})
    assert results(expect, *events) == {
        "down.brokerSessionExpirations": "NotMet" if until_the_end else "NotEvaluated",
        "down.controllerChanges": "Met" if until_the_end else "NotEvaluated",
    }


def test_evaluate_controller_changes_ignores_the_same_controller() -> None:
    events = [
        second_event(1, "controller", "elected", "0"),
        second_event(17, "controller", "elected", "0"),
    ]
    assert list(results(of_fault(controllerChanges={"max": 0}), *events).values()) == ["Met"]


GAPS = [
    Gap("write", "", "foo", 0, 10 * SECOND, 18 * SECOND),
    Gap("read", "g", "foo", 1, 10 * SECOND, 12 * SECOND),
    Gap("write", "", "foo", 1, 50 * SECOND, 59 * SECOND),
]


DUE = [
    PartitionOperations(kind, group, "foo", partition, 99, 9)
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
def test_evaluate_unavailability_within_the_span(gap: dict[str, Any], result: str) -> None:
    parts = {"gaps": GAPS, "measured": DUE, "detection_limits": LIMITS}
    found = results(of_fault(unavailability=[gap]), **parts)
    assert list(found.values()) == [result]


@pytest.mark.parametrize(
    ("code", "graceful", "killed"),
    [(143, "Met", "NotMet"), (137, "NotMet", "Met"), (None, "NotMet", "Met")],
)
def test_evaluate_shutdown_reads_the_exit_code(
    code: int | None, graceful: str, killed: str
) -> None:
    events = [second_event(20, "pod", "deleted", "t-kafka-0-0", uid="u0")]
    if code is not None:
        events.append(second_event(15, "member", "exited", "t-kafka-0-0", uid="u0", exitCode=code))
    assert results(of_fault(shutdown="Graceful"), *events) == {"down.shutdown": graceful}
    assert results(of_fault(shutdown="Killed"), *events) == {"down.shutdown": killed}
    assert results(of_fault(shutdown="Killed")) == {"down.shutdown": "NotEvaluated"}


def test_evaluate_shutdown_without_the_wrapper_uses_kubernetes() -> None:
    def ended(container: str, code: int) -> Event:
        detail = {"uid": "u0", "container": container, "exitCode": code}
        return second_event(15, "pod", "exited", "t-kafka-0-0", **detail)

    for code, result in ((143, "Met"), (137, "NotMet")):
        events = [ended("krt-crash-down-1", 0), ended("kafka", code)]
        assert results(of_fault(shutdown="Graceful"), *events) == {"down.shutdown": result}


def test_evaluate_blocked_evictions_counts_observations() -> None:
    observations = ({"kind": "EvictionRefused", "subject": "t-kafka-0-0"}, {"kind": "PodDeleted"})
    parts = {"faults": (replace(DOWN, observations=observations),)}
    assert results(of_fault(blockedEvictions={"min": 1, "max": 1}), **parts) == {
        "down.blockedEvictions": "Met"
    }
    assert results(of_fault(blockedEvictions={"min": 1})) == {"down.blockedEvictions": "NotMet"}


@pytest.mark.parametrize(
    ("wanted", "result"), [("TimedOut", "Met"), ("Answered", "NotMet"), (None, "NotEvaluated")]
)
def test_evaluate_admin_requests_compares_the_last_answer(wanted: str | None, result: str) -> None:
    answer = {"request": "CreateTopic", "answer": "TimedOut", "error": "_TIMED_OUT", "took": SECOND}
    asked = [second_event(13, "admin-request", "answered", "down", **answer)] if wanted else []
    late = second_event(50, "admin-request", "answered", "down", **answer | {"answer": "Answered"})
    expect = of_fault(adminRequests=[{"request": "CreateTopic", "answer": wanted or "TimedOut"}])
    assert results(expect, *asked, late) == {"down.adminRequests CreateTopic": result}


FETCHED = (
    "[2026-11-21 08:00:00,000] INFO [ReplicaFetcherManager on broker 0] Added fetcher to broker 1 "
    "for partitions HashMap(foo-1 -> InitialFetchState(Some(Yx-1),BrokerEndPoint(id=1, "
    "host=t-kafka-1.ns.svc:9092),2,{}), __consumer_offsets-3 -> InitialFetchState(Some(a),"
    "BrokerEndPoint(id=1, host=t-kafka-1.ns.svc:9092),2,0)) (kafka.server.ReplicaFetcherManager)"
)


@pytest.mark.parametrize(("offset", "start", "end"), [(0, "Met", "NotMet"), (71, "NotMet", "Met")])
def test_evaluate_replica_catch_up_reads_the_fetch_offsets(
    tmp_path: Path, offset: int, start: str, end: str
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "t-kafka-0-0-u9.log").write_text(f"x\n{FETCHED.format(offset)}\n")
    back = second_event(31, "pod", "added", "t-kafka-0-0", uid="u9", member="kafka-0")
    parts = {"bundle": tmp_path}
    assert results(of_fault(replicaCatchUp="Full"), back, **parts) == {"down.replicaCatchUp": start}
    assert results(of_fault(replicaCatchUp="Incremental"), back, **parts) == {
        "down.replicaCatchUp": end
    }
    assert results(of_fault(replicaCatchUp="Incremental"), **parts) == {
        "down.replicaCatchUp": "NotEvaluated"
    }


LATER = (
    FETCHED.replace("BrokerEndPoint(", "BrokerEndPoint[")
    .replace("host=t-kafka-1.ns.svc:9092)", "host=t-kafka-1.ns.svc, port=9092]")
    .replace("HashMap(", "Map(")
)
"""The same of Kafka 4.4."""


@pytest.mark.parametrize("line", [FETCHED, LATER])
def test_fetcher_pattern_matches_every_partition_of_a_line(line: str) -> None:
    found = [(match[0].rsplit("(", 1)[-1], match[3]) for match in FETCHER.findall(line.format(9))]
    assert found == [("foo", "9"), ("__consumer_offsets", "0")]
