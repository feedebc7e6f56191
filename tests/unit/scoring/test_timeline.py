from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import event

from krt_scoring.inputs.timeline import stopped_in_order, unobserved_from

if TYPE_CHECKING:
    from krt_contract.timeline import Event

STARTED, STOPPED = (
    event(at, "recorder", name, "r") for at, name in ((1, "started"), (90, "stopped"))
)
STATE = event(40, "partition", "state", "foo-0", version=0, leader=0, leader_epoch=0, isr=[0])


def silence(at: int, start: int, **detail: object) -> Event:
    return event(at, "recorder", "gap", "r", **{"stream": "zookeeper", "from": start, **detail})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), None),
        ((STATE,), None),
        ((STARTED, STATE, STOPPED), None),
        ((STARTED, STATE), 40),
        ((STARTED,), 0),
        ((STARTED, STATE, silence(60, 50, to=60), STOPPED), None),
        ((STARTED, STATE, silence(89, 50, to=89, atEnd=True), STOPPED), 50),
        ((STARTED, STATE, silence(89, 50, to=89, atEnd=True, stream="pods"), STOPPED), None),
    ],
)
def test_unobserved_from_is_the_last_time_that_is_certain(
    events: tuple[Event, ...], expected: int | None
) -> None:
    assert unobserved_from(events) == expected


def test_stopped_in_order_looks_at_the_last_recorder() -> None:
    again = event(95, "recorder", "started", "r")
    assert stopped_in_order((STARTED, STOPPED))
    assert not stopped_in_order((STARTED, STOPPED, again))
    assert stopped_in_order((STARTED, STOPPED, again, event(99, "recorder", "stopped", "r")))
