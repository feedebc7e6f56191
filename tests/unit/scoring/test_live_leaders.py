"""Time without a live leader, beside the partitions that were offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import (
    CRASH,
    SECOND,
    expectation_inputs,
    second_event,
    state,
)

from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.timeline import FOREVER, Timeline
from krt_scoring.metrics import leadership
from krt_scoring.metrics.live_leaders import deaths

if TYPE_CHECKING:
    from krt_contract.timeline import Event


def process(at: float, name: str, broker: int = 0) -> Event:
    return second_event(at, Source.MEMBER, name, f"t-kafka-{broker}-0", member=f"kafka-{broker}")


def registration(at: float, name: str, broker: int = 0) -> Event:
    return second_event(at, Source.BROKER, name, str(broker))


DIED = (process(10, EventName.KILLED), registration(15, EventName.UNREGISTERED))
BACK = (process(31, EventName.STARTED), registration(32, EventName.REGISTERED))


def row(*events: Event) -> dict[str, object]:
    found = expectation_inputs({}, *events)
    (only,) = leadership.rows(
        found.states, found.recording.timeline, found.recording.faults, found.end
    )
    return only


def test_rows_of_a_crash_name_the_dead_leader_until_the_next_one() -> None:
    """Broker 0 dies at 10 s; foo-0 gets its next leader at 16 s, and is never offline."""
    assert row(*CRASH, *DIED, *BACK) == {
        "fault": "down",
        "offlinePartitions": 0,
        "withoutLiveLeader": {"partitions": 1, "longest": 6 * SECOND, "total": 6 * SECOND},
    }


def test_rows_of_a_partition_without_an_eligible_leader_count_it_offline() -> None:
    events = [state(1, 0, 0, [0], 0), state(16, 0, -1, [0], 1), state(35, 0, 0, [0], 2)]
    found = row(*events, *DIED, *BACK)
    assert found["offlinePartitions"] == 1
    # Dead from 10 s, then known to be without a leader: one time, not two.
    assert found["withoutLiveLeader"] == {
        "partitions": 1,
        "longest": 25 * SECOND,
        "total": 25 * SECOND,
    }


def test_rows_while_every_leader_lives_have_no_time_at_all() -> None:
    follower_only = [process(10, EventName.KILLED, broker=7)]
    assert row(*CRASH[:2], *follower_only)["withoutLiveLeader"] == {"partitions": 0}


def test_rows_with_an_unseen_state_are_lower_bounds() -> None:
    silence = {"stream": "zookeeper", "from": 15 * SECOND, "to": 18 * SECOND}
    gap = second_event(18, Source.RECORDER, EventName.GAP, "recorder", **silence)
    events = [*CRASH[:2], state(17, 0, 1, [1], 4), state(16, 1, 1, [1], 1), gap]
    assert row(*events)["atLeast"] is True


@pytest.mark.parametrize(
    ("events", "dead"),
    [
        (DIED, [(10 * SECOND, FOREVER)]),
        ((*DIED, *BACK), [(10 * SECOND, 32 * SECOND)]),
        # A frozen process serves again when it is thawed, if its session outlived that.
        (
            (process(10, EventName.FROZEN), process(14, EventName.THAWED)),
            [(10 * SECOND, 14 * SECOND)],
        ),
        (
            (
                process(10, EventName.FROZEN),
                registration(16, EventName.UNREGISTERED),
                process(20, EventName.THAWED),
                registration(21, EventName.REGISTERED),
            ),
            [(10 * SECOND, 21 * SECOND)],
        ),
        # Killed while frozen: nobody thaws it.
        (
            (process(10, EventName.FROZEN), process(12, EventName.EXITED), BACK[1]),
            [(10 * SECOND, 32 * SECOND)],
        ),
        ((registration(1, EventName.REGISTERED),), []),
    ],
)
def test_deaths_end_when_the_broker_can_serve_again(
    events: tuple[Event, ...], dead: list[tuple[int, int]]
) -> None:
    assert deaths(Timeline(events)).get(0) == dead
