"""CrashPod and FreezePod of brokers that somebody else runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.operator.core.test_kafka_ref_pods import (
    Trick,
    play_trick,
    refusal,
    world_with_pods,
)
from tests.unit.operator.doubles.objects import copied

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World

POD = "my-cluster-pool-2"
"""Of broker 12."""


def fault(action: str, **fields: Any) -> dict[str, Any]:
    broker = {"role": "Broker", "ordinals": [12]}
    return {"name": "hit", "action": action, "target": broker, **fields}


CRASH = fault("CrashPod")
FREEZE = fault("FreezePod", duration="20s")


def seconds(entry: dict[str, Any], begin: str, end: str) -> float:
    since, until = (datetime.fromisoformat(entry[key]) for key in (begin, end))
    return (until - since).total_seconds()


def reasons(world: World) -> list[str]:
    return [reason["message"] for reason in world.status["inconclusiveReasons"]]


def containers(world: World) -> list[str]:
    return [each["name"] for each in world.owner.pods[POD]["spec"].get("ephemeralContainers", [])]


def without_time(name: str) -> str:
    return name.rpartition("-")[0]


def test_crash_pod_kills_the_process_of_the_broker_and_keeps_its_pod() -> None:
    world = world_with_pods(CRASH)
    uid = world.owner.pods[POD]["metadata"]["uid"]
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert reasons(world) == []
    assert world.owner.processes.signals == [("KILL", POD)]
    assert (world.owner.deleted, world.owner.trespasses) == ([], [])
    assert world.owner.pods[POD]["metadata"]["uid"] == uid
    (entry,) = status["faults"]
    assert entry["verified"]
    kinds = {seen["kind"] for seen in entry["observations"]}
    assert {"ProcessKilled", "BrokerFenced", "IsrShrank"} <= kinds
    # Not before the session has ended, and the broker is back.
    assert seconds(entry, "revertedAt", "recoveredAt") >= 14


@pytest.mark.parametrize(("body", "signal"), [(CRASH, "KILL"), (FREEZE, "STOP")])
def test_signal_of_a_second_test_on_the_same_pod_does_not_read_the_report_of_the_first(
    body: dict[str, Any], signal: str
) -> None:
    first = world_with_pods(body)
    first.run()
    second = world_with_pods(body)
    second.tick(3600)
    second.owner.pods = copied(first.owner.pods)
    status = second.run()
    assert second.owner.processes.signals == [(signal, POD)]
    begun = datetime.fromisoformat(status["faults"][0]["injectedAt"])
    assert begun > first.time
    assert all(len(name) <= 63 for name in containers(second))


def test_crash_pod_needs_neither_a_manager_nor_the_right_to_delete() -> None:
    world = world_with_pods(CRASH, manager="None")
    world.owner.pods[POD]["metadata"]["ownerReferences"] = []
    world.owner.pods[POD]["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    world.owner.denied = {"delete pods"}
    assert world.run()["verdict"] == "Passed"


def test_freeze_pod_stops_the_process_for_the_duration_and_keeps_its_pod() -> None:
    world = world_with_pods(FREEZE)
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert reasons(world) == []
    assert world.owner.processes.signals == [("STOP", POD)]
    assert list(map(without_time, containers(world))) == ["krt-thaw-hit-1", "krt-freeze-hit-1"]
    (entry,) = status["faults"]
    assert (entry["verified"], world.owner.deleted) == (True, [])
    assert seconds(entry, "injectedAt", "revertedAt") == 20
    kinds = {seen["kind"] for seen in entry["observations"]}
    assert {"ProcessStopped", "BrokerFenced", "IsrShrank"} <= kinds


def test_freeze_pod_that_cannot_be_thawed_ends_with_the_deletion_of_the_pod() -> None:
    world = world_with_pods(FREEZE)
    world.owner.processes.thaw_works = False
    world.run()
    assert world.owner.deleted == [POD]
    assert any("could not be thawed within 30 s" in reason for reason in reasons(world))


@pytest.mark.parametrize("probed", [5, 19])
def test_freeze_pod_that_a_probe_ends_is_not_taken_for_a_freeze(probed: int) -> None:
    world = world_with_pods(FREEZE)
    world.owner.processes.probed = timedelta(seconds=probed)
    status = world.run()
    (entry,) = status["faults"]
    assert probed - 1 <= seconds(entry, "injectedAt", "revertedAt") <= probed
    (reason,) = reasons(world)
    assert f"{POD}: its container was restarted at" in reason
    assert "liveness probe" in reason
    assert world.owner.deleted == []


def test_freeze_pod_of_which_a_restart_follows_the_thaw_ends_with_the_thaw() -> None:
    world = world_with_pods(FREEZE)
    while not any(entry["state"] == "Reverted" for entry in world.status.get("faults", [])):
        world.run(seconds=0.2)
    world.owner.processes.restart(POD)
    (entry,) = world.run()["faults"]
    assert seconds(entry, "injectedAt", "revertedAt") == 20
    (reason,) = reasons(world)
    assert f"{POD}: its container was restarted at" in reason


def test_freeze_pod_whose_pod_is_replaced_meanwhile_is_not_taken_for_a_freeze() -> None:
    world = world_with_pods(FREEZE)
    world.run(until="Injecting")
    while not world.owner.processes.stopped:
        world.run_on(seconds=0.5)
    world.owner.pods[POD]["metadata"]["uid"] = "another"
    world.owner.processes.forget(POD)
    world.run()
    assert any(f"{POD}: the pod was replaced" in reason for reason in reasons(world))


@pytest.mark.parametrize("cleanup", ["Delete", "Retain"])
def test_freeze_pod_of_a_test_that_is_aborted_is_thawed_at_once(cleanup: str) -> None:
    world = world_with_pods(FREEZE | {"duration": "10m"})
    world.test["spec"]["cleanup"] = cleanup
    while not world.owner.processes.stopped:
        world.run(seconds=0.5)
    world.test["spec"]["abort"] = True
    world.run()
    assert world.owner.processes.stopped == {}
    assert world.owner.processes.signals == [("STOP", POD), ("CONT", POD)]
    assert world.owner.deleted == []


def test_freeze_pod_of_a_test_that_is_aborted_without_the_right_ends_and_thaws_in_time() -> None:
    world = world_with_pods(FREEZE | {"duration": "30s"})
    while not world.owner.processes.stopped:
        world.run(seconds=0.5)
    world.owner.denied = {"list pods", "patch pods/ephemeralcontainers"}
    world.test["spec"]["abort"] = True
    assert world.run_on(seconds=60)["phase"] == "Aborted"
    world.tick(60)
    world.owner.advance()
    assert world.owner.processes.stopped == {}
    assert set(world.topics) == {"payments"}


PROCESS_1 = {"exitCode": 4, "reason": "Error", "message": "java is process 1 of its container"}
NO_BASH = {"exitCode": 128, "reason": "StartError", "message": 'exec: "bash": not found'}


@pytest.mark.parametrize("refusal", [PROCESS_1, NO_BASH])
@pytest.mark.parametrize("body", [CRASH, FREEZE])
def test_process_that_cannot_be_signalled_gets_no_second_attempt_and_is_reported(
    body: dict[str, Any], refusal: dict[str, Any]
) -> None:
    world = world_with_pods(body)
    world.owner.processes.refusal = refusal
    status = world.run()
    assert not status["faults"][0]["verified"]
    # Ephemeral containers stay in the pod for ever, and a pod that was not frozen is not deleted.
    tried = list(map(without_time, containers(world)))
    assert tried in (["krt-crash-hit-1"], ["krt-thaw-hit-1", "krt-freeze-hit-1"])
    assert world.owner.deleted == []
    assert any(f"{POD}: {refusal['message']}" in one for one in reasons(world))
    assert world.owner.processes.signals == []


def test_freeze_pod_whose_containers_do_not_start_deletes_no_pod() -> None:
    world = world_with_pods(FREEZE)
    world.owner.processes.starts = False
    status = world.run()
    assert not status["faults"][0]["verified"]
    assert world.owner.deleted == []
    assert any(f"{POD}: no answer within 30 s" in one for one in reasons(world))


@pytest.mark.parametrize(
    ("body", "right"),
    [
        (CRASH, "patch pods/ephemeralcontainers"),
        (FREEZE, "patch pods/ephemeralcontainers"),
        (FREEZE, "delete pods"),
    ],
)
def test_missing_right_of_the_action_is_refused(body: dict[str, Any], right: str) -> None:
    world = world_with_pods(body)
    world.owner.denied = {right}
    condition = refusal(world)
    assert condition["reason"] == "BrokerPodsForbidden"
    assert f"the controller may not {right} in namespace kafka" in condition["message"]


def test_delete_pod_needs_no_right_to_signal() -> None:
    world = world_with_pods(fault("DeletePod"))
    world.owner.denied = {"patch pods/ephemeralcontainers"}
    assert world.run()["verdict"] == "Passed"


@pytest.mark.parametrize(
    ("body", "change", "parts"),
    [
        (
            CRASH,
            {"containers": [{"name": "a"}, {"name": "b"}]},
            ("spec.kafkaRef.pods.container", "a, b", "none is called kafka"),
        ),
        (CRASH, {"restartPolicy": "Never"}, ("restartPolicy Never",)),
        (CRASH, {"volumes": []}, ("has no volume",)),
        (FREEZE, {"volumes": [{"emptyDir": {}}]}, ("no PersistentVolumeClaim",)),
    ],
)
def test_pod_that_cannot_bear_the_fault_is_refused(
    body: dict[str, Any], change: dict[str, Any], parts: tuple[str, ...]
) -> None:
    world = world_with_pods(body)
    world.owner.pods[POD]["spec"] |= change
    condition = refusal(world)
    assert condition["reason"] == "BrokerPodUnusable"
    for part in (f"pod {POD}", *parts):
        assert part in condition["message"]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([CRASH, FREEZE]),
    st.sampled_from(Trick),
    st.integers(min_value=0, max_value=40),
)
def test_signal_whatever_the_owner_does_meanwhile_touches_no_other_pod(
    body: dict[str, Any], trick: Trick, before: int
) -> None:
    world = world_with_pods(body)
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == before:
            play_trick(world, trick)

    world.owner.before_call = count
    world.run_on(seconds=300)
    assert world.owner.trespasses == []
    assert {pod for _, pod in world.owner.processes.signals} <= {POD}
