"""Which elections permit a loss, and what the scorecard says of a cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import state, timeline_history

from krt_scoring.allowances.truncations import UNCLEAN, Truncation, permitting
from krt_scoring.history.elections import Election, Electorate

if TYPE_CHECKING:
    from krt_contract.timeline import Event

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
    election = Election(
        topic="foo",
        partition=0,
        at=16,
        epoch=1,
        leader=1,
        electorate=electorate,
        storage_lost=False,
        deposed=0,
        since=1,
        left=0,
        earliest=16,
    )
    return Truncation(election, tp=0, offset=5, rule=rule, latest=16)


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
