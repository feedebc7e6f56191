"""Expectations about the whole run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import (
    CRASH,
    SECOND,
    detection,
    expectation_inputs,
    expecting_run,
    ledger_file,
    results,
    second_event,
    state,
)

from krt_contract.members import Member, MemberKind
from krt_scoring.expectations.registry import evaluate
from krt_scoring.expectations.results import Noun, count_bounds
from krt_scoring.inputs.reasons import Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.timeline import Event


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
def test_evaluate_loss_in_one_word(word: str, rules: dict[str | None, int], result: str) -> None:
    detected = detection({"lost-write": rules})
    assert results({"loss": word}, detected=detected) == {"loss": result}


def test_evaluate_loss_on_damaged_evidence_is_not_evaluated() -> None:
    reason = Reason("evidence", "FileMissing", "log", "gone", ("lost-write",))
    assert results({"loss": "None"}, reasons=[reason]) == {"loss": "NotEvaluated"}


@pytest.mark.parametrize(("void", "result"), [(0, "NotMet"), (2, "NotMet"), (3, "NotEvaluated")])
def test_evaluate_loss_beside_what_is_void_is_not_met(void: int, result: str) -> None:
    scope = Scope(("log",), (("foo", 0),))
    reason = Reason("evidence", "LogNotStable", "foo-0", "moved", ("lost-write",), scope)
    found = detection({"lost-write": {None: 3}})
    lost = replace(found.anomaly("lost-write"), void=void)
    others = [item for item in found.anomalies if item.name != lost.name]
    detected = replace(found, anomalies=(lost, *others))
    assert results({"loss": "None"}, detected=detected, reasons=[reason]) == {"loss": result}


@pytest.mark.parametrize(
    ("word", "unclean", "result"), [("None", False, "Met"), ("Required", True, "Met")]
)
def test_evaluate_unclean_elections_where_permitted(word: str, unclean: bool, result: str) -> None:
    later = [state(16, 0, 0, [0], 1), state(20, 0, 1, [1], 2), state(20, 1, 1, [1], 1)]
    events = [*CRASH[:2], *(later if unclean else CRASH[2:])]
    expect = {"uncleanElections": word}
    broker = {"unclean.leader.election.enable": "true"}
    run = replace(expecting_run(expect), broker_config=broker)
    assert results(expect, *events, run=run) == {"uncleanElections": result}


def test_evaluate_unclean_elections_not_permitted_is_not_met() -> None:
    events = [*CRASH[:2], state(16, 0, 0, [0], 1), state(20, 0, 1, [1], 2)]
    assert results({"uncleanElections": "Allowed"}, *events) == {"uncleanElections": "NotMet"}


def test_evaluate_records_compares_ledger_outcomes() -> None:
    expect = {"records": [{"outcome": "unknown", "min": 1}, {"outcome": "lost", "max": 0}]}
    detected = detection(ledger={"unknown": 0, "lost": 0})
    assert results(expect, detected=detected) == {
        "records unknown": "NotMet",
        "records lost": "Met",
    }
    reason = Reason("evidence", "LedgerDoesNotBalance", "", "off by one")
    assert set(results(expect, detected=detected, reasons=[reason]).values()) == {"NotEvaluated"}


def test_evaluate_records_without_an_outcome_is_not_evaluated() -> None:
    expect = {"records": [{"term": "unknown", "max": 0}]}
    assert results(expect, detected=detection(ledger={"unknown": 0})) == {"records": "NotEvaluated"}


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({"min": 1}, "at least 1 leader change"),
        ({"max": 1}, "at most 1 leader change"),
        ({"max": 0}, "no leader changes"),
        ({"min": 1, "max": 1}, "exactly 1 leader change"),
        ({"min": 1, "max": 6}, "1 to 6 leader changes"),
    ],
)
def test_count_bounds_agree_in_number(bounds: dict[str, int], text: str) -> None:
    assert count_bounds(bounds, Noun("leader change", "leader changes")) == text


def test_evaluate_rejections_counts_by_error(tmp_path: Path) -> None:
    rows = [
        {"outcome": "acked"},
        *({"outcome": "failed", "error": "NOT_ENOUGH_REPLICAS"} for _ in range(3)),
        {"outcome": "unknown", "error": "_MSG_TIMED_OUT"},
    ]
    expect = {
        "rejections": [
            {"error": "NOT_ENOUGH_REPLICAS", "min": 3, "max": 3},
            {"error": "NOT_LEADER", "min": 1},
        ]
    }
    found = results(expect, files=ledger_file(tmp_path, "produce", rows))
    assert list(found.values()) == ["Met", "NotMet"]
    assert set(results(expect).values()) == {"NotEvaluated"}


def test_evaluate_what_is_counted_in_a_ledger_that_lacks_a_file_is_not_evaluated(
    tmp_path: Path,
) -> None:
    expect = {"rejections": [{"error": "NOT_LEADER", "max": 0}]}
    files = ledger_file(tmp_path, "produce", [{"outcome": "acked"}])
    damaged = frozenset({"produce"})
    assert set(results(expect, files=files).values()) == {"Met"}
    (found,) = evaluate(expectation_inputs(expect, files=files, left_out=damaged))
    assert (found.result, found.observed) == (
        "NotEvaluated",
        "of produce, not all evidence can be used",
    )
    elsewhere = frozenset({"consume"})
    assert set(results(expect, files=files, left_out=elsewhere).values()) == {"Met"}


def assigned(consumer: str, n: int, at: float, partition: int | None) -> dict[str, Any]:
    topic = None if partition is None else "foo"
    return {
        "consumer": consumer,
        "incarnation": f"u-{consumer}",
        "group": "g",
        "event_seq": n,
        "at": round(at * SECOND),
        "event": "assigned",
        "generation": None,
        "topic": topic,
        "partition": partition,
    }


def test_evaluate_groups_counts_rebalances_and_unassigned_consumers(tmp_path: Path) -> None:
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
    expect = {
        "rebalances": [{"group": "g", "min": 2, "max": 2}],
        "unassignedConsumers": [{"group": "g", "min": 1, "max": 1}],
    }
    drains = second_event(50, "phase", "entered", "Draining")
    found = results(expect, drains, files=ledger_file(tmp_path, "consumer_events", rows))
    assert found == {"rebalances g": "Met", "unassignedConsumers g": "Met"}
    assert set(results(expect).values()) == {"NotEvaluated"}


def revoked(consumer: str, n: int, at: float, partition: int | None) -> dict[str, Any]:
    return assigned(consumer, n, at, partition) | {"event": "revoked"}


@pytest.mark.parametrize(
    ("rows", "idle"),
    [
        # One that joins late takes a partition before the first fault (at 10 s): a has none then.
        ([assigned("a", 0, 1, 0), revoked("a", 1, 5, 0), assigned("b", 0, 5, 0)], 1),
        ([assigned("a", 0, 1, 0), revoked("a", 1, 15, 0), assigned("b", 0, 15, 0)], 0),
        # A cooperative member keeps what it has when it is given nothing more.
        ([assigned("a", 0, 1, 0), assigned("a", 1, 5, None), assigned("b", 0, 5, 1)], 0),
        # Only after the drain began.
        ([assigned("a", 0, 1, 0), assigned("b", 0, 1, None), assigned("b", 5, 55, 1)], 1),
        ([assigned("a", 0, 1, 0), assigned("a", 1, 5, 1) | {"event": "closed", "topic": None}], 1),
    ],
)
def test_evaluate_unassigned_consumers_are_those_without_a_partition_under_faults(
    tmp_path: Path, rows: list[dict[str, Any]], idle: int
) -> None:
    expect = {"unassignedConsumers": [{"group": "g", "min": idle, "max": idle}]}
    drains = second_event(50, "phase", "entered", "Draining")
    files = ledger_file(tmp_path, "consumer_events", rows)
    assert results(expect, drains, files=files) == {"unassignedConsumers g": "Met"}


NEXT = {"incarnation": "next"}


@pytest.mark.parametrize(
    ("rows", "most"),
    [
        # A static member is back, in the generation that the group had: no rebalance.
        ([assigned("a", 0, 15, 0) | NEXT | {"generation": 2}], 0),
        # Its return gave the group a new generation; so did what followed.
        ([assigned("a", 0, 15, 0) | NEXT | {"generation": 3}], 1),
        (
            [
                assigned("a", 0, 15, 0) | NEXT | {"generation": 2},
                assigned("a", 5, 16, 0) | NEXT | {"generation": 3},
            ],
            1,
        ),
        # A group that lost its state counts from the beginning; this member was there all along.
        ([assigned("b", 5, 15, 1) | {"generation": 2}], 1),
        # Nobody recorded generations.
        ([assigned("a", 0, 15, 0) | NEXT], 1),
        # An idle member is given nothing, then one partition, then another, and reads nothing.
        (
            [
                assigned("a", 7, 15, None) | {"generation": 5},
                assigned("a", 8, 16, 0) | {"generation": 6},
                assigned("a", 9, 17, 1) | {"generation": 7},
            ],
            3,
        ),
    ],
)
def test_evaluate_rebalances_of_a_member_that_is_back_counts_new_generations(
    tmp_path: Path, rows: list[dict[str, Any]], most: int
) -> None:
    before = [assigned(name, 0, 1, n) | {"generation": 2} for n, name in enumerate("ab")]
    expect = {"rebalances": [{"group": "g", "min": most, "max": most}]}
    drains = second_event(50, "phase", "entered", "Draining")
    files = ledger_file(tmp_path, "consumer_events", [*before, *rows])
    assert results(expect, drains, files=files) == {"rebalances g": "Met"}


def test_evaluate_keys_counts_partitions(tmp_path: Path) -> None:
    rows = [
        {"topic": "foo", "key": key, "partition": partition}
        for key, partition in (("a", 0), ("a", 0), ("b", 1))
    ]
    bounds = [{"topic": "foo", "partition": p, "rows_read": n} for p, n in ((0, 3), (1, 0))]
    for row in bounds:
        row["isr"] = [0]
    files = ledger_file(tmp_path, "log", rows) | ledger_file(tmp_path, "log_end_offsets", bounds)
    expect = {
        "partitionsPerKey": {"max": 1},
        "nonEmptyPartitions": [{"topic": "foo", "max": 1}],
    }
    assert set(results(expect, files=files).values()) == {"Met"}
    rows.append({"topic": "foo", "key": "a", "partition": 1})
    files |= ledger_file(tmp_path, "log", rows)
    assert results(expect, files=files)["partitionsPerKey"] == "NotMet"


MEMBERS = ("kafka-0", "kafka-1", "zk-0")


def scheduled(member: str, node: str, at: float = 1) -> Event:
    pod = {"uid": f"{member}-{node}", "member": member, "node": node}
    return second_event(at, "pod", "scheduled", member, **pod)


@pytest.mark.parametrize(
    ("nodes", "distinct", "apart"),
    [
        (("n1", "n2", "n3"), "Met", "Met"),
        (("n1", "n2", "n2"), "Met", "NotMet"),
        (("n1", "n1", "n2"), "NotMet", "NotMet"),
    ],
)
def test_evaluate_node_spread_by_rule(nodes: tuple[str, ...], distinct: str, apart: str) -> None:
    events = [scheduled(member, node) for member, node in zip(MEMBERS, nodes, strict=True)]
    assert results({"nodeSpread": "PerRole"}, *events) == {"nodeSpread": distinct}
    assert results({"nodeSpread": "AllMembers"}, *events) == {"nodeSpread": apart}
    assert results({"nodeSpread": "AllMembers"}, *events[1:]) == {"nodeSpread": "NotEvaluated"}


@pytest.mark.parametrize(("moved", "result"), [(30, "Met"), (10, "NotMet")])
def test_evaluate_node_spread_of_members_on_one_node_after_each_other(
    moved: float, result: str
) -> None:
    """Broker 0 leaves n1 at 20 s, and broker 1 comes there."""
    events = [
        *(
            scheduled(member, node)
            for member, node in zip(MEMBERS, ("n1", "n2", "n3"), strict=True)
        ),
        second_event(20, "pod", "deleted", "kafka-0", uid="kafka-0-n1", member="kafka-0"),
        scheduled("kafka-0", "n4", 21),
        scheduled("kafka-1", "n1", moved),
        # The pod that went reports nothing of the one that came.
        second_event(40, "pod", "deleted", "kafka-1", uid="kafka-1-n2", member="kafka-1"),
    ]
    assert results({"nodeSpread": "PerRole"}, *events) == {"nodeSpread": result}


def test_evaluate_closest_replica_fetches_compares_zones(tmp_path: Path) -> None:
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
    expect = {"closestReplicaFetches": [{"group": "g", "min": 1, "max": 1}]}
    files = ledger_file(tmp_path, "consumer_events", rows)
    members = tuple(Member(f"kafka-{i}", MemberKind.KAFKA, i, zone) for i, zone in enumerate("ab"))
    plan = replace(expecting_run(expect, traffic={"consumers": [consumer]}), members=members)
    (found,) = evaluate(expectation_inputs(expect, run=plan, files=files))
    assert (found.result, found.observed) == ("Met", "1 partition read in zone b: foo-0")
    (found,) = evaluate(expectation_inputs(expect, run=plan))
    assert found.result == "NotEvaluated"


def test_evaluate_error_of_a_scored_run_is_not_met() -> None:
    assert results({"error": "TooFewNodes"}) == {"error": "NotMet"}


def delivered(incarnation: str, offset: int) -> dict[str, Any]:
    place = {"group": "g", "topic": "foo", "partition": 0, "offset": offset}
    return {"incarnation": incarnation, "outcome": "ok", **place}


def processed(incarnation: str, offset: int) -> dict[str, Any]:
    place = {"group": "g", "topic": "foo", "partition": 0, "offset": offset}
    return {"incarnation": incarnation, "event": "processed", **place}


@pytest.mark.parametrize(
    ("first_note", "second_from", "unprocessed", "twice"),
    [(5, 5, 0, 0), (3, 5, 2, 0), (5, 4, 0, 1), (3, 3, 0, 0)],
)
def test_evaluate_processing_counts_never_and_twice(
    tmp_path: Path, first_note: int, second_from: int, unprocessed: int, twice: int
) -> None:
    """The first member got 0..4 and noted some; the second goes on at what was committed."""
    deliveries = [delivered("a", offset) for offset in range(5)]
    deliveries += [delivered("b", offset) for offset in range(second_from, 8)]
    files = ledger_file(tmp_path, "consume", deliveries)
    files |= ledger_file(
        tmp_path, "consumer_events", [processed("a", first_note), processed("b", 8)]
    )
    traffic = {
        "consumers": [{"name": "c", "topics": ["foo"], "group": "g", "commit": "BeforeProcessing"}]
    }
    expect = {"unprocessed": "None", "processedTwice": "None"}
    found = expectation_inputs(expect, run=expecting_run(expect, traffic=traffic), files=files)
    numbers = {r.expectation: r.numbers["value"] for r in evaluate(found)}
    assert numbers == {"unprocessed": unprocessed, "processedTwice": twice}
