"""A cluster that is polled: what its leader epochs prove, and what nothing proves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from tests.unit.scoring.builders import (
    DOWN,
    EVENTS,
    RUN,
    SECOND,
    codes,
    detection,
    event,
    expectation_inputs,
    expecting_run,
    guard_inputs,
    of_fault,
    results,
    second_event,
)

from krt_contract.metadata import Metadata, MetadataMode
from krt_contract.plan import Plan
from krt_scoring.allowances.offsets import partition_of
from krt_scoring.anomalies.registry import unchecked
from krt_scoring.expectations.registry import evaluate
from krt_scoring.history.elections import Electorate, elections, states
from krt_scoring.inputs import broker_session
from krt_scoring.inputs.fault_windows import FaultWindow
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics.partition_states import States
from krt_scoring.metrics.recovery import Recovery
from krt_scoring.outputs.report import tested as tested_module
from krt_scoring.selftest.corruptions import replicas
from krt_scoring.verdict.guards import isr_at_election, timeline_gaps, unseen_leaders

if TYPE_CHECKING:
    from krt_contract.timeline import Event
    from krt_scoring.inputs.reasons import Reason

POLLED = Metadata(MetadataMode.KRAFT, referenced=True)


def seen(  # noqa: PLR0913, PLR0917 (a state, when and where it was seen)
    at: float, leader: int, epoch: int, isr: list[int], until: float = 0, subject: str = "foo-0"
) -> Event:
    """Return a polled state; times in seconds."""
    detail = {"leader": leader, "leader_epoch": epoch, "isr": isr, "replicas": [0, 1]}
    since = {"unchanged_until": round(until * SECOND)} if until else {}
    return second_event(at, "partition", "state", subject, **detail, **since, **{"from": "polling"})


# Elections.


def test_elections_of_equal_epochs_are_none() -> None:
    assert not elections([seen(1, 0, 3, [0, 1]), seen(2, 0, 3, [0]), seen(3, 0, 3, [0, 1])])


def test_elections_of_a_polled_rise_do_not_know_where_the_leader_came_from() -> None:
    (found,) = elections([seen(1, 0, 0, [0, 1]), seen(9, 1, 1, [1], until=8.5)])
    assert (found.at, found.earliest) == (9 * SECOND, 8.5 * SECOND)
    assert (found.deposed, found.leader, found.electorate) == (0, 1, Electorate.UNKNOWN)
    assert (found.outside_isr, found.storage_lost, found.left) == (True, False, 0)


def test_elections_of_a_rise_after_a_new_recorder_were_after_the_last_state() -> None:
    (found,) = elections([seen(5, 0, 0, [0, 1]), seen(9, 1, 1, [1])])
    assert found.earliest == 5 * SECOND


@pytest.mark.parametrize(("epoch", "count"), [(1, 0), (2, 1)])
def test_elections_without_a_leader_had_one_if_an_epoch_was_not_seen(
    epoch: int, count: int
) -> None:
    assert len(elections([seen(1, 0, 0, [0, 1]), seen(9, -1, epoch, [1])])) == count


def test_elections_of_a_leader_in_two_polled_epochs_count_from_the_second() -> None:
    polled = [seen(1, 0, 0, [0, 1]), seen(5, 0, 2, [0, 1]), seen(9, 1, 3, [1])]
    assert [item.since for item in elections(polled)] == [0, 5 * SECOND]


def test_states_of_an_epoch_are_in_the_order_in_which_they_were_seen() -> None:
    polled = [seen(1, 0, 0, [0, 1]), seen(2, 0, 0, [0]), seen(3, 0, 0, [0, 1])]
    assert [state.isr for state in states(polled)["foo", 0]] == [(0, 1), (0,), (0, 1)]


def test_controller_elections_of_a_polled_quorum_restart_sessions() -> None:
    quorum = event(5, "controller", "elected", "100", epoch=3, **{"from": "polling"})
    zookeeper = event(6, "controller", "elected", "0", **{"from": "polling"})
    assert broker_session.controller_elections([quorum, zookeeper]) == (5,)


# What is void.


def judged(*events: Event, plan: dict[str, Any] | None = None, **found: int) -> list[Reason]:
    """Return the reasons of a run of these events in which something was found."""
    document = RUN.to_document() | (plan or {})
    run = replace(Plan.from_document(document), metadata=POLLED)
    violations = {name.replace("_", "-"): count for name, count in found.items()}
    given = guard_inputs(run=run, events=tuple(events))
    return list(isr_at_election.check(given.recording, violations))


UNCLEAN = {"brokerConfig": {"unclean.leader.election.enable": "true"}}
MOVE = (seen(1, 0, 0, [0, 1]), seen(9, 1, 1, [1], until=8))
EXTERNAL = event(5, "fault", "injected", "f", action="External")


def test_isr_at_election_with_unclean_election_voids_what_it_may_permit_there() -> None:
    (reason,) = judged(*MOVE, plan=UNCLEAN, lost_write=1)
    assert (reason.code, reason.subject) == ("IsrAtElectionUnknown", "foo")
    assert reason.scope.partitions == (("foo", 0),)
    assert {"lost-write", "vanished-read", "commit-rewind"} <= set(reason.invalidates)
    assert not {"double-ownership", "corrupt-payload", "duplicate-write"} & set(reason.invalidates)
    assert "unclean election is on" in reason.message


@pytest.mark.parametrize(
    ("events", "plan", "found"),
    [
        (MOVE, {}, {"lost_write": 1}),  # unclean election is off
        (MOVE[:1], UNCLEAN, {"lost_write": 1}),  # no election
        (MOVE, UNCLEAN, {"duplicate_write": 1}),  # no election permits it
        (MOVE, UNCLEAN, {}),  # nothing was found
    ],
)
def test_isr_at_election_where_it_decides_nothing_gives_no_reason(
    events: tuple[Event, ...], plan: dict[str, Any], found: dict[str, int]
) -> None:
    assert not judged(*events, plan=plan, **found)


@pytest.mark.parametrize("action", ["External", "LoseDisk"])
def test_isr_at_election_after_a_fault_that_may_remove_a_disk_voids_a_loss(action: str) -> None:
    fault = replace(EXTERNAL, detail={"action": action})
    (reason,) = judged(fault, *MOVE, lost_write=1)
    assert "disk" in reason.message
    late = replace(fault, at=20 * SECOND)
    assert not judged(late, *MOVE, lost_write=1)


def test_isr_at_election_of_the_groups_offsets_voids_what_its_commits_decide() -> None:
    partition = partition_of("g", RUN)
    moves = [
        replace(item, subject=f"__consumer_offsets-{number}")
        for number in (partition, partition + 1)
        for item in MOVE
    ]
    of_group = judged(EXTERNAL, *moves[:2], commit_rewind=1, lost_write=1)
    assert [(item.subject, item.scope.groups) for item in of_group] == [("g", ("g",))]
    assert set(of_group[0].invalidates) == {"commit-rewind", "duplicate-delivery"}
    assert not judged(EXTERNAL, *moves[2:], commit_rewind=1)


def test_isr_at_election_finds_the_groups_offsets_by_the_partitions_that_were_seen() -> None:
    number = partition_of("g", RUN, 3)
    moves = [
        replace(item, subject=f"__consumer_offsets-{partition}")
        for partition in range(3)
        for item in (MOVE if partition == number else MOVE[:1])
    ]
    assert [item.subject for item in judged(EXTERNAL, *moves, commit_rewind=1)] == ["g"]


def test_isr_at_election_of_an_output_topic_voids_what_its_group_did_not_see() -> None:
    output = {"topic": "bar", "recordsPerTransaction": 1}
    consumer = {"name": "c", "topics": ["foo"], "group": "g", "commit": "Transactional"}
    spec = {"traffic": {"producers": [], "consumers": [{**consumer, "output": output}]}}
    topics = [{"name": name, "partitions": 1, "replicationFactor": 3} for name in ("foo", "bar")]
    move = [replace(item, subject="bar-0") for item in MOVE]
    plan = {"spec": spec, "topics": topics, **UNCLEAN}
    found = judged(*move, plan=plan, unseen=1)
    assert [(item.subject, item.invalidates) for item in found][1:] == [("g", ("unseen",))]


# What was not seen at all.


def polled_guards(*events: Event, sends: tuple[int, int] = (2 * SECOND, 50 * SECOND)) -> Any:
    run = replace(RUN, metadata=POLLED)
    given = guard_inputs(run=run, events=(*EVENTS, *events))
    inspection = replace(given.recording.inspection, times={("produce", "scheduled_at"): sends})
    return replace(given.recording, inspection=inspection)


def test_unseen_leaders_of_a_polled_jump_are_none() -> None:
    recording = polled_guards(seen(1, 0, 0, [0]), seen(9, 1, 4, [1], until=8))
    assert not unseen_leaders.find(recording)


@pytest.mark.parametrize(("at", "epoch", "count"), [(1, 4, 0), (5, 4, 1), (5, 0, 0)])
def test_unseen_leaders_before_the_first_poll_are_those_of_earlier_epochs(
    at: float, epoch: int, count: int
) -> None:
    assert len(unseen_leaders.find(polled_guards(seen(at, 0, epoch, [0])))) == count


def test_unseen_leaders_of_a_partition_that_was_never_polled_are_all_of_it() -> None:
    (found,) = unseen_leaders.find(polled_guards())
    assert (found.partition, found.end) == ("foo-0", None)


@pytest.mark.parametrize("stream", ["polling", "recorder"])
def test_timeline_gaps_of_polling_hide_nothing_that_epochs_do_not_show(stream: str) -> None:
    gap = event(9, "recorder", "gap", "recorder", stream=stream, **{"from": 4, "to": 9})
    assert not list(timeline_gaps.check(polled_guards(seen(1, 0, 0, [0]), gap, sends=(2, 50))))


def test_timeline_gaps_of_polling_to_the_end_name_the_brokers() -> None:
    gap = event(98, "recorder", "gap", "recorder", stream="polling", **{"from": 4, "to": 98})
    gap.detail["atEnd"] = True
    (reason,) = timeline_gaps.check(polled_guards(seen(1e-6, 0, 0, [0]), gap, sends=(2, 50)))
    assert (reason.code, reason.subject) == ("TimelineGap", "polling")
    assert "The brokers gave no answer" in reason.message


def test_unchecked_of_a_polled_cluster_has_acks_below_the_minimum() -> None:
    run = replace(RUN, metadata=POLLED)
    assert "accepted-below-min-isr" in unchecked(run)
    assert "accepted-below-min-isr" not in unchecked(RUN)


def test_self_test_of_a_polled_cluster_tries_no_ack_below_the_minimum() -> None:
    (kind,) = replicas.KINDS
    baseline = mock.Mock()
    baseline.facts.run = replace(RUN, metadata=POLLED)
    assert not list(kind.attempts(baseline))
    baseline.positions.assert_not_called()


def test_tested_of_a_polled_cluster_says_whose_it_is_and_how_it_is_reached() -> None:
    run = replace(RUN, metadata=POLLED, bootstrap="kafka.team.svc:9092")
    facts = dict(tested_module.tested({"run": {}}, run, Timeline(EVENTS)).facts)
    assert facts["Cluster"] == (
        "there before the test, KRaft mode, at kafka.team.svc:9092; broker session timeout 9s"
    )
    security = {"tls": {}, "sasl": {"mechanism": "PLAIN", "secretRef": {"name": "user"}}}
    run = replace(run, resolved_spec={**run.resolved_spec, "kafkaRef": {"security": security}})
    facts = dict(tested_module.tested({"run": {}}, run, Timeline(EVENTS)).facts)
    assert facts["Cluster"].endswith("timeout 9s, SASL_SSL by PLAIN")


def test_tested_of_a_secured_cluster_says_how_clients_logged_in() -> None:
    spec = {**RUN.resolved_spec, "kafka": {"security": {"tls": {}}}}
    run = replace(RUN, metadata=Metadata(MetadataMode.KRAFT), resolved_spec=spec)
    facts = dict(tested_module.tested({"run": {}}, run, Timeline(EVENTS)).facts)
    assert facts["Cluster"].endswith(", SSL")


def test_tested_of_a_kraft_cluster_names_its_features_or_that_they_are_not_known() -> None:
    def shown(mode: MetadataMode, features: dict[str, int]) -> str | None:
        run = replace(RUN, metadata=Metadata(mode, referenced=True, features=features))
        facts = dict(tested_module.tested({"run": {}}, run, Timeline(EVENTS)).facts)
        return facts.get("Finalized features")

    levels = {"metadata.version": 29, "group.version": 1}
    assert shown(MetadataMode.KRAFT, levels) == "group.version 1, metadata.version 29"
    assert shown(MetadataMode.KRAFT, {}) == "not recorded"
    assert shown(MetadataMode.ZOOKEEPER, {}) is None


# Expectations: broker 0 crashes at 10 s and is back at 30 s.

CRASH = (
    seen(1, 0, 0, [0, 1], subject="foo-0"),
    seen(1, 1, 0, [0, 1], subject="foo-1"),
    seen(16, 1, 1, [1], until=15, subject="foo-0"),
    seen(16, 1, 0, [1], until=15, subject="foo-1"),
    seen(33, 1, 1, [0, 1], until=32, subject="foo-0"),
    seen(34, 1, 0, [0, 1], until=33, subject="foo-1"),
    second_event(16, "broker", "fenced", "0", unchanged_until=15 * SECOND, **{"from": "polling"}),
)


def polled_run(expect: dict[str, Any]) -> Plan:
    return replace(expecting_run(expect), metadata=POLLED)


def of_polled(expect: dict[str, Any], *events: Event, **given: Any) -> list[str]:
    return list(results(expect, *events, run=polled_run(expect), **given).values())


@pytest.mark.parametrize(
    ("field", "bounds", "result"),
    [
        ("leaderChanges", {"min": 1, "max": 1}, "Met"),  # epochs show that there were no others
        ("leaderChanges", {"max": 0}, "NotMet"),
        ("unrelatedLeaderChanges", {"max": 0}, "Met"),
        ("offlinePartitions", {"max": 0}, "NotEvaluated"),
        ("isrShrinks", {"min": 2, "max": 2}, "Met"),  # there are no other partitions
        ("isrShrinks", {"min": 3}, "NotMet"),
        ("isrShrinks", {"max": 1}, "NotMet"),
        ("isrShrinkAfter", {"max": "7s"}, "Met"),
        ("isrShrinkAfter", {"max": "5s"}, "NotEvaluated"),
        ("isrShrinkAfter", {"min": "5s"}, "NotEvaluated"),
        ("isrShrinkAfter", {"min": "7s"}, "NotMet"),
        ("brokersFenced", {"min": 1}, "Met"),
        ("brokersFenced", {"max": 1}, "NotEvaluated"),
        ("brokersFenced", {"max": 0}, "NotMet"),
    ],
)
def test_evaluate_of_a_polled_fault_decides_what_was_seen_and_no_absence(
    field: str, bounds: dict[str, Any], result: str
) -> None:
    assert of_polled(of_fault(**{field: bounds}), *CRASH) == [result]


@pytest.mark.parametrize(
    ("bounds", "result"),
    [({"min": 1}, "Met"), ({"max": 1}, "NotEvaluated"), ({"min": 2}, "NotEvaluated")],
)
def test_evaluate_polled_isr_shrinks_of_some_partitions_is_a_minimum(
    bounds: dict[str, int], result: str
) -> None:
    assert of_polled(of_fault(isrShrinks=bounds), *CRASH[:3]) == [result]


@pytest.mark.parametrize(
    ("state", "result"),
    [
        (seen(16, 1, 2, [1], until=15), "NotEvaluated"),  # another one was not seen
        (seen(16, 1, 1, [1], until=9), "NotEvaluated"),  # it may be of before the fault
        (seen(16, 1, 1, [1], until=15), "Met"),
    ],
)
def test_evaluate_polled_leader_changes_counts_what_certainly_was_within(
    state: Event, result: str
) -> None:
    expect = of_fault(leaderChanges={"min": 1, "max": 1})
    assert of_polled(expect, CRASH[0], CRASH[1], state) == [result]


def test_evaluate_polled_leader_changes_of_a_partition_first_seen_later_is_not_evaluated() -> None:
    expect = of_fault(leaderChanges={"max": 0})
    assert of_polled(expect, CRASH[0], seen(20, 1, 3, [1], subject="foo-1")) == ["NotEvaluated"]


@pytest.mark.parametrize(("until", "result"), [(18, "Met"), (16.5, "NotEvaluated")])
def test_evaluate_polled_offline_partitions_counts_the_time_that_was_seen(
    until: float, result: str
) -> None:
    expect = of_fault(offlinePartitions={"min": 1})
    events = [*CRASH[:2], seen(16, -1, 1, [0], until=15), seen(18, 0, 2, [0], until=until)]
    assert of_polled(expect, *events) == [result]


def test_evaluate_polled_unrelated_changes_with_unknown_targets_are_not_evaluated() -> None:
    external = FaultWindow("down", "External", injected_at=10 * SECOND, recovered_at=40 * SECOND)
    for bounds in ({"max": 0}, {"min": 1}):
        expect = of_fault(unrelatedLeaderChanges=bounds)
        assert of_polled(expect, *CRASH, faults=(external,)) == ["NotEvaluated"]


@pytest.mark.parametrize(
    ("bounds", "result"),
    [
        ({"max": "4s"}, "Met"),
        ({"max": "3500ms"}, "NotEvaluated"),  # between the poll at 33 s and the one at 34 s
        ({"max": "2s"}, "NotMet"),
        ({"min": "3s"}, "Met"),
    ],
)
def test_evaluate_polled_isr_restored_after_knows_it_between_two_polls(
    bounds: dict[str, str], result: str
) -> None:
    recovery = Recovery("down", 30 * SECOND, 34 * SECOND, None, 4 * SECOND, complete=True)
    expect = of_fault(isrRestoredAfter=bounds)
    assert of_polled(expect, *CRASH, recoveries=[recovery]) == [result]


@pytest.mark.parametrize(
    ("events", "word", "result"),
    [
        (CRASH[:2], "None", "Met"),
        (CRASH[:2], "Required", "NotMet"),
        (CRASH, "None", "NotEvaluated"),
        (CRASH, "Required", "NotEvaluated"),
    ],
)
def test_evaluate_polled_unclean_elections_is_certain_only_without_elections(
    events: tuple[Event, ...], word: str, result: str
) -> None:
    assert of_polled({"uncleanElections": word}, *events) == [result]


def test_evaluate_polled_acks_below_the_minimum_is_not_evaluated() -> None:
    expect = {"acceptedBelowMinIsr": "None"}
    assert of_polled(expect, *CRASH, detected=detection()) == ["NotEvaluated"]


def test_evaluate_polled_states_at_the_end_are_those_of_the_last_poll() -> None:
    expect = {"inIsr": [{"broker": 0, "min": 2}], "nonPreferredLeaders": {"min": 1, "max": 1}}
    plan = polled_run(expect)
    # Kafka chose the replicas: the plan has none.
    document = plan.to_document()
    document["topics"] = [{"name": "foo", "partitions": 2, "replicationFactor": 2}]
    run = Plan.from_document(document)
    found = [item.result for item in evaluate(expectation_inputs(expect, *CRASH, run=run))]
    assert found == ["Met", "NotMet"]  # both are led by 1, and the preferred one is 0
    bare = [replace(item, detail={**item.detail, "replicas": []}) for item in CRASH]
    found = [item.result for item in evaluate(expectation_inputs(expect, *bare, run=run))]
    assert found == ["Met", "NotEvaluated"]


def test_evaluate_in_isr_takes_the_ids_of_somebody_elses_brokers() -> None:
    ids = [
        seen(1, 101, 0, [101, 205], subject="foo-0"),
        seen(1, 205, 0, [205, 101], subject="foo-1"),
        seen(9, 205, 1, [205], subject="foo-0"),
    ]
    expect = {"inIsr": [{"broker": 101, "min": 2}, {"broker": 205, "min": 2, "max": 2}]}
    run = polled_run(expect)
    found = {item.expectation: item for item in evaluate(expectation_inputs(expect, *ids, run=run))}
    assert (found["inIsr 101"].result, found["inIsr 205"].result) == ("NotMet", "Met")
    assert "foo-1" in found["inIsr 101"].observed


def test_states_of_a_polled_run_may_miss_any_state_but_no_epoch() -> None:
    known = States.of(Timeline(CRASH), polled_run({}))
    assert known.missed(0, 60 * SECOND) == {("foo", 0), ("foo", 1)}
    assert not known.missed_leaders(10 * SECOND, 60 * SECOND)
    assert DOWN.members == {"kafka-0"}


def test_check_all_of_a_polled_clean_run_gives_no_reason() -> None:
    run = replace(RUN, metadata=POLLED)
    assert not codes(guard_inputs(run=run, events=(*EVENTS, seen(1e-6, 0, 0, [0]))))
