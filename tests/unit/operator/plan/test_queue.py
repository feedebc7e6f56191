"""Slots go to waiting tests in the order of their creation, and no namespace holds up another."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_operator.api.spec import Spec
from krt_operator.api.status import Phase, Status
from krt_operator.engine.progress import Run
from krt_operator.plan.queue import Limits, Queue

SPEC = Spec.model_validate(
    {
        "topics": [{"name": "foo", "replicationFactor": 1}],
        "traffic": {
            "producers": [{"name": "a", "topic": "foo"}],
            "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
        },
    }
)


def entry(uid: str, namespace: str = "a", phase: str = "", second: int = 0) -> dict[str, Any]:
    created = f"2026-01-01T00:00:{second:02d}Z"
    return {
        "metadata": {"uid": uid, "namespace": namespace, "creationTimestamp": created},
        "status": {"phase": phase} if phase else {},
    }


def queue(tests: list[dict[str, Any]], test: dict[str, Any], limits: Limits) -> Queue:
    meta = test["metadata"]
    created = datetime.strptime(meta["creationTimestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    run = Run(meta["namespace"], meta["uid"], meta["uid"], SPEC, Status(), created)
    return Queue(tests, run, limits)


def obstacle(
    tests: list[dict[str, Any]], test: dict[str, Any], running: int, per_namespace: int
) -> str:
    return queue(tests, test, Limits(running, per_namespace, starting=0)).obstacle


@pytest.mark.parametrize(
    ("tests", "limits", "message"),
    [
        ([], (1, 0), ""),
        ([entry("x", phase="Warmup")], (1, 0), "ahead in the queue: 1; 1 may run at the same time"),
        ([entry("x", phase="Completed")], (1, 0), ""),
        ([entry("x", phase="Warmup")], (2, 0), ""),
        ([entry("x", phase="Warmup")], (9, 1), "1; 1 may run at the same time in namespace a"),
        ([entry("x", "b", phase="Warmup")], (9, 1), ""),
        ([entry("x", phase="Pending", second=1)], (1, 0), "ahead in the queue: 1; 1 may run"),
        ([entry("x", phase="Pending", second=9)], (1, 0), ""),
        # The older test of the full namespace b does not take the last slot.
        ([entry("x", "b", "Warmup"), entry("y", "b", second=1)], (2, 1), ""),
        ([entry("x", "b", "Warmup"), entry("y", "c", second=1)], (2, 1), "ahead in the queue: 2"),
        ([], (0, 0), "ahead in the queue: 0; 0 may run"),
    ],
)
def test_queue_names_what_a_test_waits_for(
    tests: list[dict[str, Any]], limits: tuple[int, int], message: str
) -> None:
    mine = entry("me", second=5)
    found = obstacle([*tests, mine], mine, *limits)
    assert message in found
    assert bool(found) is bool(message)
    assert obstacle(tests, mine, *limits) == found, "a list that is older than the test"


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["", Phase.PENDING, Phase.WARMUP, Phase.COMPLETED]),
            st.integers(0, 3),
        ),
        max_size=12,
    ),
    st.integers(1, 4),
    st.integers(0, 2),
)
def test_queue_starts_as_many_tests_as_the_limits_allow(
    drawn: list[tuple[str, str, int]], limit: int, namespace_limit: int
) -> None:
    tests = [entry(f"t{at}", *drawn[at]) for at in range(len(drawn))]
    working = [one for one in tests if one["status"].get("phase") == Phase.WARMUP]
    waiting = [one for one in tests if one["status"].get("phase", Phase.PENDING) == Phase.PENDING]
    started = [one for one in waiting if not obstacle(tests, one, limit, namespace_limit)]

    def running(namespace: str) -> int:
        return sum(one["metadata"]["namespace"] == namespace for one in [*working, *started])

    total = len(working) + len(started)
    if started:
        assert total <= limit
    for one in started:
        assert not namespace_limit or running(one["metadata"]["namespace"]) <= namespace_limit
    for one in waiting:
        if one not in started:
            namespace = one["metadata"]["namespace"]
            assert total >= limit or 0 < namespace_limit <= running(namespace)


def at_work(uid: str, phase: str, established: str | None = None) -> dict[str, Any]:
    found = entry(uid, phase=phase)
    if established:
        condition = {"type": "TrafficEstablished", "status": established, "reason": "Any"}
        found["status"]["conditions"] = [condition]
    return found


@pytest.mark.parametrize(
    ("tests", "starting", "message"),
    [
        ([at_work("x", "Provisioning")], 1, "tests that are starting: 1; 1 may start"),
        ([at_work("x", "Warmup")], 1, "tests that are starting: 1"),
        ([at_work("x", "Warmup", "Unknown")], 1, "tests that are starting: 1"),
        ([at_work("x", "Warmup", "False")], 1, "tests that are starting: 1"),
        ([at_work("x", "Warmup", "True")], 1, ""),
        ([at_work("x", "Injecting", "True")], 1, ""),
        ([at_work("x", "CleaningUp")], 1, ""),
        ([at_work("x", "Resting")], 1, ""),
        ([at_work("x", "Provisioning")], 2, ""),
        ([at_work("x", "Provisioning"), at_work("y", "Warmup")], 2, "starting: 2; 2 may start"),
        ([at_work("x", "Provisioning")], 0, ""),
        ([entry("x", second=1)], 1, "tests that are starting: 1"),
        ([entry("x", second=9)], 1, ""),
    ],
)
def test_queue_lets_few_tests_start_at_the_same_time(
    tests: list[dict[str, Any]], starting: int, message: str
) -> None:
    found = queue(tests, entry("me", second=5), Limits(9, 0, starting)).others_starting
    assert message in found
    assert bool(found) is bool(message)


def test_queue_passes_over_a_test_that_waits_for_its_nodes() -> None:
    waiting = entry("x", phase="Pending", second=1)
    waiting["status"]["conditions"] = [
        {"type": "Provisioned", "status": "Unknown", "reason": "NodesUnderPressure"}
    ]
    assert queue([waiting], entry("me", second=5), Limits(9, 0, 1)).others_starting == ""
    assert "ahead in the queue: 1" in obstacle([waiting], entry("me", second=5), 1, 0)
