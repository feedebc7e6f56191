"""Which elections permit a loss, and what the scorecard says of a cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import election, state, timeline_history

from krt_scoring.allowances.truncations import UNCLEAN, Truncation, moments, permitting
from krt_scoring.history.elections import Electorate
from krt_scoring.inputs.timeline import CLOCK_SLACK, FOREVER

if TYPE_CHECKING:
    from krt_contract.timeline import Event
    from krt_scoring.history.elections import Election

WITHIN_ISR = [state(1, 0, 0, [0, 1], 0), state(16, 0, 1, [1], 1)]
OUTSIDE_ISR = [state(1, 0, 0, [0], 0), state(16, 0, 1, [1], 1)]


@pytest.mark.parametrize(
    ("events", "unclean", "topic", "expected"),
    [
        (OUTSIDE_ISR, True, "foo", True),
        (OUTSIDE_ISR, False, "foo", False),
        (WITHIN_ISR, True, "foo", False),
        # Of a topic that is not tested, such as one of Kafka's own.
        (OUTSIDE_ISR, True, "bar", False),
        ([*WITHIN_ISR, state(30, 0, 2, [0], 2)], True, "foo", True),
    ],
)
def test_permitting_is_an_unclean_election_of_a_tested_topic_that_allows_it(
    events: list[Event], unclean: bool, topic: str, expected: bool
) -> None:
    config = {"unclean.leader.election.enable": str(unclean).lower()}
    assert permitting(timeline_history(events, topic, **config)) is expected


def truncation(electorate: Electorate, rule: str | None = None) -> Truncation:
    return Truncation(election(electorate), tp=0, offset=5, rule=rule, latest=16)


@pytest.mark.parametrize(
    ("electorate", "rule", "shown"),
    [
        (Electorate.ISR, None, {"unclean": 0, "electedFrom": "Isr"}),
        (Electorate.LAST_KNOWN_LEADER, None, {"unclean": 1, "electedFrom": "LastKnownLeader"}),
        (Electorate.LAST_KNOWN_LEADER, UNCLEAN, {"unclean": 1, "electedFrom": "Outside"}),
        (Electorate.LAST_KNOWN_LEADER, "storage-lost", {"electedFrom": "LastKnownLeader"}),
        (Electorate.UNKNOWN, None, {"electedFrom": "Unknown"}),
    ],
)
def test_as_dict_of_a_cut_says_where_the_leader_came_from(
    electorate: Electorate, rule: str | None, shown: dict[str, int | str]
) -> None:
    found = truncation(electorate, rule).as_dict()
    assert {name: found[name] for name in shown} == shown
    assert ("unclean" in found) == (electorate is not Electorate.UNKNOWN)
    assert found["firstOffsetCut"] == 5


GRACE = 1000
LEFT = 5 * CLOCK_SLACK
POLLED = Electorate.UNKNOWN


@pytest.mark.parametrize(
    ("elections", "expected"),
    [
        # Within the ISR, whatever was acked before the election was in the log.
        ([election(Electorate.ISR, since=3, left=LEFT)], [(16, 0, 0, FOREVER)]),
        ([election(Electorate.ELR, since=3, left=LEFT)], [(16, 0, 0, FOREVER)]),
        # From outside: what was sent once no earlier leader could take it, or was acked by all
        # while the elected one was in the ISR; clocks of two processes differ.
        ([election(since=3, left=LEFT)], [(16, 3 + GRACE, 0, LEFT - CLOCK_SLACK)]),
        ([election(since=0, left=LEFT)], [(16, 0, 0, LEFT - CLOCK_SLACK)]),
        # Of a polled cluster: it was between two answers.
        (
            [election(POLLED, since=3, earliest=2 * CLOCK_SLACK)],
            [(CLOCK_SLACK, 3 + GRACE, 0, -CLOCK_SLACK)],
        ),
        # An election after which an earlier leader may have kept other records.
        (
            [election(since=0), election(at=20, since=0)],
            [(16, 0, 0, -CLOCK_SLACK), (20, 0, 16 + GRACE, -CLOCK_SLACK)],
        ),
        (
            [election(Electorate.ISR, storage_lost=True), election(at=20, since=0)],
            [(16, 0, 0, FOREVER), (20, 0, 16 + GRACE, -CLOCK_SLACK)],
        ),
        (
            [election(Electorate.ISR), election(at=20, since=0)],
            [(16, 0, 0, FOREVER), (20, 0, 0, -CLOCK_SLACK)],
        ),
    ],
)
def test_moments_say_what_was_in_the_deposed_leaders_log(
    elections: list[Election], expected: list[tuple[int, ...]]
) -> None:
    facts = timeline_history([]).facts
    tp = facts.positions.tp("foo", 0)
    assert moments(elections, facts, GRACE) == [(tp, *moment) for moment in expected]


def test_moments_of_two_partitions_do_not_mix() -> None:
    facts = timeline_history([], "foo", 2).facts
    found = moments([election(since=0), election(at=20, since=0, partition=1)], facts, GRACE)
    strict = {(tp, earliest): strict for tp, earliest, _, strict, _ in found}
    assert strict == {(facts.positions.tp("foo", 0), 16): 0, (facts.positions.tp("foo", 1), 20): 0}


def test_moments_of_elections_at_one_instant_are_those_of_each() -> None:
    """One that the member's log filled in may be given the time of the next one."""
    facts = timeline_history([]).facts
    tp = facts.positions.tp("foo", 0)
    both = [election(since=3, left=LEFT), election(Electorate.ISR, epoch=2)]
    assert moments(both, facts, GRACE) == [
        (tp, 16, 3 + GRACE, 0, LEFT - CLOCK_SLACK),
        (tp, 16, 0, 0, FOREVER),
    ]
