"""Whose commits an election of __consumer_offsets may have lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import SECOND, second_event

from krt_contract.plan import Plan
from krt_scoring.allowances import offsets
from krt_scoring.history.groups import groups_of
from krt_scoring.history.intervals import Interval
from krt_scoring.inputs.timeline import CLOCK_SLACK

if TYPE_CHECKING:
    from krt_contract.timeline import Event

LOST_AT, ELECTED_AT, AGAIN_AT = 10, 20, 40
ELECTED = ELECTED_AT * SECOND


def plan() -> Plan:
    """Return the plan of two groups, whose commits lie in different partitions of two."""
    consumers = [{"name": name, "topics": ["foo"], "group": name} for name in ("g", "h")]
    return Plan.from_document(
        {
            "schemaVersion": 2,
            "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
            "spec": {"traffic": {"producers": [], "consumers": consumers}},
            "topics": [{"name": "foo", "partitions": 1, "replicationFactor": 2}],
            "brokerConfig": {"offsets.topic.num.partitions": "2"},
        }
    )


RUN = plan()
OF_G = offsets.partition_of("g", RUN)


def led(at: float, leader: int, epoch: int, topic: str = offsets.CONSUMER_OFFSETS) -> Event:
    """Return a state of the partition of g's commits, or of another topic's of that number."""
    state = {"leader": leader, "leader_epoch": epoch, "isr": [leader], "version": epoch}
    return second_event(at, "partition", "state", f"{topic}-{OF_G}", **state)


DISK_LOST = second_event(
    LOST_AT, "fault", "injected", "disk", action="LoseDisk", targets=[{"member": "kafka-0"}]
)
LOST = (led(1, 0, 0), DISK_LOST, led(ELECTED_AT, 1, 1))
LOST_TWICE = (
    *LOST,
    second_event(
        30, "fault", "injected", "disk", action="LoseDisk", targets=[{"member": "kafka-1"}]
    ),
    led(AGAIN_AT, 0, 2),
)


def history(events: tuple[Event, ...], *intervals: Interval) -> Any:
    """Return of a history what decides which commits may be lost."""
    facts = SimpleNamespace(groups=groups_of(RUN), run=RUN)
    ownership = SimpleNamespace(intervals=intervals)
    return SimpleNamespace(
        tables=SimpleNamespace(timeline=events), facts=facts, ownership=ownership
    )


def owned(begin: int, committed_at: int | None, group: int = 0) -> Interval:
    """Return an ownership and when the commit before it was confirmed."""
    return Interval(
        number=7,
        group=group,
        tp=0,
        consumer="c",
        incarnation="c1",
        first_seq=0,
        last_seq=9,
        begin=begin,
        end=100 * SECOND,
        start=0,
        generation=None,
        committed_at=committed_at,
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hello", 99_162_322),
        ("Hello World", -862_545_276),
        # Of one char of two bytes, and of two chars.
        ("€", 0x20AC),
        ("😀", 31 * 0xD83D + 0xDE00),
    ],
)
def test_java_hash_is_that_of_javas_strings(text: str, value: int) -> None:
    assert offsets.java_hash(text) == value


@pytest.mark.parametrize(
    ("group", "partitions", "expected"),
    [
        ("hello", 50, 22),
        # The sign is cleared, not turned: -862545276 is 1284938372 then.
        ("Hello World", 50, 22),
        ("Hello World", 7, 1_284_938_372 % 7),
        ("polygenelubricants", 50, 0),
        # As the setting says where the number of partitions was not seen.
        ("hello", 0, 0),
        ("a", 0, 1),
    ],
)
def test_partition_of_a_group_is_kafkas(group: str, partitions: int, expected: int) -> None:
    assert offsets.partition_of(group, RUN, partitions) == expected


def test_partition_of_a_group_without_a_number_is_by_the_setting() -> None:
    assert [offsets.partition_of(group, RUN) for group in ("g", "h")] == [OF_G, 1 - OF_G]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (LOST, {0: (ELECTED,)}),
        (LOST_TWICE, {0: (ELECTED, AGAIN_AT * SECOND)}),
        # No disk was lost.
        ((LOST[0], LOST[2]), {}),
        # Of another topic.
        ((led(1, 0, 0, "foo"), DISK_LOST, led(ELECTED_AT, 1, 1, "foo")), {}),
    ],
)
def test_losses_are_the_elections_that_may_lose_a_groups_commits(
    events: tuple[Event, ...], expected: dict[int, tuple[int, ...]]
) -> None:
    of_events = history(events)
    assert offsets.losses(of_events.tables, of_events.facts) == expected


@pytest.mark.parametrize(
    ("ownership", "resumed"),
    [
        (owned(ELECTED, ELECTED), True),
        (owned(ELECTED - 1, ELECTED - 1), False),
        (owned(ELECTED + 9, ELECTED + CLOCK_SLACK), True),
        (owned(ELECTED + 9, ELECTED + CLOCK_SLACK + 1), False),
        # Nothing was committed before it.
        (owned(ELECTED, None), False),
        # The commits of h lie in the other partition.
        (owned(ELECTED, ELECTED, group=1), False),
    ],
)
def test_resumed_begins_after_a_loss_of_the_commit_before_it(
    ownership: Interval, resumed: bool
) -> None:
    assert offsets.resumed(history(LOST, ownership)) == (frozenset({7}) if resumed else frozenset())


def test_resumed_after_one_of_two_losses_is_enough() -> None:
    between = owned((AGAIN_AT - 1) * SECOND, ELECTED - 1)
    after_both = owned((AGAIN_AT + 1) * SECOND, (ELECTED_AT + 9) * SECOND)
    for ownership in (between, after_both):
        assert offsets.resumed(history(LOST_TWICE, ownership)) == {7}
