"""What a deleted test has on somebody else's cluster: a failure is reported on the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_operator.app.release import try_to_release
from krt_operator.errors import KrtError, RefusedError, TransientError

if TYPE_CHECKING:
    from krt_operator.engine.progress import Event


def failing(error: KrtError) -> str:
    raise error


@pytest.mark.parametrize("waits_for", ["", "pod reader-0 still runs"])
def test_a_try_that_does_not_fail_creates_no_event(waits_for: str) -> None:
    events: list[Event] = []
    assert try_to_release("ns/a", lambda: waits_for, events.append) == waits_for
    assert events == []


def test_a_failed_try_is_reported_on_the_test() -> None:
    events: list[Event] = []
    error = TransientError("no broker answers")
    assert try_to_release("ns/a", lambda: failing(error), events.append)
    assert [(event.reason, event.warning) for event in events] == [("KafkaObjectsRemain", True)]
    assert "no broker answers" in events[0].message


def test_an_event_that_cannot_be_created_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    error = TransientError("no broker answers")

    def refuse(_: Event) -> None:
        raise RefusedError("namespace ns is being terminated")

    cause = try_to_release("ns/a", lambda: failing(error), refuse)
    assert cause == "TransientError: no broker answers"
    assert "ns is being terminated" in caplog.text


def test_what_is_no_failure_of_the_cluster_is_raised() -> None:
    def defect() -> str:
        raise ValueError("a defect")

    with pytest.raises(ValueError, match="a defect"):
        try_to_release("ns/a", defect, lambda _: None)
