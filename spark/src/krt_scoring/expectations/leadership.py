"""Expectations about the leaders of the tested partitions during a fault, and at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.members import MemberKind, broker_of, member_of
from krt_scoring.expectations.results import (
    Noun,
    Result,
    count_bounds,
    evaluate_count,
    not_evaluated,
)
from krt_scoring.metrics.partition_states import name, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.expectations.fault_span import FaultSpan
    from krt_scoring.history.elections import State
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.partition_states import Place, States

NO_STATES = "the timeline shows no state of a partition"

END_UNOBSERVED = (
    "the last states of the partitions were not recorded: ZooKeeper, the controllers or the polled "
    "brokers gave no answer"
)

UNRELATED = "away from a broker that no fault affected"
"""What tells an unrelated leader change."""

SHOWN = 8
"""Elections named in a result."""


def evaluate(
    expect: Mapping[str, Any], span: FaultSpan, states: States, faults: Sequence[FaultWindow]
) -> Iterator[Result]:
    """Yield the results of the expectations about leaders within a fault's span.

    Args:
        expect: an entry of ``spec.expect.faults``.
        span: the fault and the time.
        states: the states of the tested partitions.
        faults: all faults of the run.
    """
    missed = bool(states.missed_leaders(span.start, span.end))
    if bounds := expect.get("offlinePartitions"):
        offline = states.offline(span.start, span.end)
        yield _count(
            f"{span.name}.offlinePartitions",
            bounds,
            len(offline),
            Noun("offline partition", "offline partitions"),
            states,
            at_least=bool(states.hidden(span.start, span.end) - offline),
            where=names(offline),
        )
    elections = [
        (place, before, after)
        for place, before, after in states.elections(span.start, span.end)
        if since(after, span.start)
    ]
    if bounds := expect.get("leaderChanges"):
        yield _count(
            f"{span.name}.leaderChanges",
            bounds,
            len(elections),
            Noun("leader change", "leader changes"),
            states,
            at_least=missed,
            where=names({place for place, _, _ in elections}),
        )
    if bounds := expect.get("unrelatedLeaderChanges"):
        unrelated = [
            (place, before.leader)
            for place, before, after in elections
            if not _affected(before.leader, after, faults, states)
        ]
        # Of what somebody else injects it is not known whom it affects.
        vague = states.observed and any(
            _of_unknown_targets(fault) and fault.meets(span.start, span.end) for fault in faults
        )
        where = ", ".join(f"{name(place)} from {leader}" for place, leader in unrelated[:SHOWN])
        yield _count(
            f"{span.name}.unrelatedLeaderChanges",
            bounds,
            len(unrelated),
            Noun(f"leader change {UNRELATED}", f"leader changes {UNRELATED}"),
            states,
            at_least=missed or vague,
            where=where,
        )


def evaluate_at_end(expect: Mapping[str, Any], states: States, end: int) -> Iterator[Result]:
    """Yield the results of ``inIsr`` and ``nonPreferredLeaders``.

    Args:
        expect: ``spec.expect``.
        states: the states of the tested partitions.
        end: when the run ended, UTC µs.
    """
    for item in expect.get("inIsr") or ():
        places = {
            place
            for place, history in states.known.items()
            if int(item["broker"]) in history[-1].isr
        }
        rest = "with the broker in the ISR"
        what = Noun(f"partition {rest}", f"partitions {rest}")
        yield _count_at_end(f"inIsr {item['broker']}", item, places, what, states, end)
    bounds = expect.get("nonPreferredLeaders")
    if not bounds:
        return
    if states.observed and not all(states.replicas_at(place, end) for place in states.replicas):
        what = Noun("partition", "partitions")
        expected = count_bounds(bounds, what)
        yield not_evaluated("nonPreferredLeaders", expected, "the replicas were not seen")
        return
    places = {
        place
        for place, history in states.known.items()
        if (replicas := states.replicas_at(place, end)) and history[-1].leader != replicas[0]
    }
    rest = "not led by the preferred replica"
    what = Noun(f"partition {rest}", f"partitions {rest}")
    yield _count_at_end("nonPreferredLeaders", bounds, places, what, states, end)


def since(state: State, start: int) -> bool:
    """Whether a state was certainly reached after a time."""
    return state.earliest >= start if state.polled else state.at > start


def _of_unknown_targets(fault: FaultWindow) -> bool:
    """Whether a fault does not name members by the brokers that they are."""
    return not any(broker_of(member) is not None for member in fault.members)


def _affected(broker: int, elected: State, faults: Sequence[FaultWindow], states: States) -> bool:
    """Whether a fault targeted this broker and was not recovered from as another was elected.

    A KRaft controller that stalls may fence healthy brokers, whose heartbeats it did not take:
    a fault of a controller affects the brokers that were fenced under it.
    """
    member, at = member_of(broker), elected.at
    for fault in faults:
        if fault.injected_at is None or not fault.meets(elected.earliest, at):
            continue
        if elected.polled and _of_unknown_targets(fault):
            return True
        fenced = any(fault.begin <= when <= at for when in states.fencings.get(broker, ()))
        if member in fault.members or (fenced and any(map(_is_controller, fault.members))):
            return True
    return False


def _is_controller(member: str) -> bool:
    return member.rpartition("-")[0] == MemberKind.CONTROLLER


def _count_at_end(  # noqa: PLR0913, PLR0917 (as `_count`, by the last states)
    expectation: str,
    bounds: Mapping[str, Any],
    places: set[Place],
    what: Noun,
    states: States,
    end: int,
) -> Result:
    if states.unobserved(end):
        return not_evaluated(expectation, count_bounds(bounds, what), END_UNOBSERVED)
    return _count(expectation, bounds, len(places), what, states, where=names(places))


def _count(  # noqa: PLR0913 (as `evaluate_count`, which it guards)
    expectation: str,
    bounds: Mapping[str, Any],
    value: int,
    what: Noun,
    states: States,
    *,
    at_least: bool = False,
    where: str = "",
) -> Result:
    if not states.known:
        return not_evaluated(expectation, count_bounds(bounds, what), NO_STATES)
    return evaluate_count(expectation, bounds, value, what, at_least=at_least, where=where)
