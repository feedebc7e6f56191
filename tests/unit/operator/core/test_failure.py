"""A pass that fails is reported on the test, and never keeps a run for ever."""

from __future__ import annotations

import itertools
import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.doubles.kafka import FakeKafka
from tests.unit.operator.doubles.world import World

from krt_operator.constants import (
    CLEANUP_FAILURE_PATIENCE,
    CLEANUP_PATIENCE,
    REFUSAL_PATIENCE,
    RETRY_PATIENCE,
)
from krt_operator.errors import (
    KafkaDefectError,
    NameTakenError,
    PlanUnreadableError,
    RefusedError,
    TransientError,
    UserError,
)
from krt_operator.phases.failure_reasons import classify, message_of

if TYPE_CHECKING:
    from collections.abc import Callable


QUOTA = "POST /api/v1/namespaces/ns/pods: HTTP 403: pods is forbidden: exceeded quota: small"
RIGHT = 'GET /api/v1/namespaces/ns/pods: HTTP 403: User "krt" cannot list resource "pods"'
PHASES = [
    "Pending",
    "Provisioning",
    "Warmup",
    "Injecting",
    "Draining",
    "DumpingReplicas",
    "Scoring",
]
CONDITION = {
    "Pending": "Provisioned",
    "Provisioning": "Provisioned",
    "Warmup": "TrafficEstablished",
    "Injecting": "FaultsInjected",
    "Draining": "Drained",
    "DumpingReplicas": "ReplicasDumped",
}


def in_phase(phase: str) -> World:
    """A world whose run has just entered the phase."""
    world = World(evidence={"compareReplicas": True})
    world.run(until="" if phase == "Pending" else phase, seconds=0 if phase == "Pending" else 600)
    assert world.status.get("phase", "Pending") == phase
    return world


def fail(*verbs: str, kind: str = "", error: Exception | None = None) -> Callable[..., Any]:
    """Answers of an API server that fails these verbs, for one kind or all but the resource."""
    refused = error or RefusedError(QUOTA)

    def answer(verb: str, of: str, name: str) -> Exception | None:
        del name
        fits = of == kind if kind else of not in {"KafkaResilienceTest", "Event"}
        # What does not exist is created by its first apply.
        return refused if verb in {*verbs, *(["create"] * ("apply" in verbs))} and fits else None

    return answer


def reasons(world: World) -> list[str]:
    return [event["reason"] for event in world.events]


def seconds_of(world: World, phase: str) -> float:
    record = next(each for each in world.status["phases"] if each["name"] == phase)
    begin, end = (datetime.fromisoformat(record[key]) for key in ("startTime", "endTime"))
    return (end - begin).total_seconds()


@pytest.mark.parametrize("phase", PHASES)
def test_run_refused_in_any_phase_ends_with_the_refusal_and_its_remedy(phase: str) -> None:
    world = in_phase(phase)
    world.answers = fail("list", error=RefusedError(RIGHT), kind="Pod")
    world.run_on(until="CleaningUp")
    assert seconds_of(world, phase) < REFUSAL_PATIENCE + 15
    world.answers = fail()
    status = world.run_on()
    assert status["verdict"] == "Inconclusive"
    assert "cannot list resource" in status["summary"]
    if phase == "Scoring":
        assert status["phase"] == "Completed"
        assert world.condition("Scored")["reason"] == "ScoringFailed"
        assert "copy it with krt evidence t" in status["summary"]
    else:
        assert status["phase"] == "Error"
        condition = world.condition(CONDITION[phase])
        assert (condition["status"], condition["reason"]) == ("False", "RequestRefused")
        assert "give the controller this right" in condition["message"]
    assert world.names_of("StatefulSet") == set()
    assert all(isinstance(error, RefusedError) for error in world.errors)


@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        ("Pending", "ConfigMap"),
        ("Provisioning", "Pod"),
        ("Warmup", "Pod"),
        ("Draining", "ConfigMap"),
        ("DumpingReplicas", "Job"),
        ("Scoring", "Job"),
    ],
)
def test_run_whose_objects_are_refused_says_so_at_once_and_ends(phase: str, kind: str) -> None:
    world = in_phase(phase)
    if phase == "Warmup":
        for name in sorted(world.names_of("Pod")):
            if "producer" in name:
                del world.objects["Pod", name]
    if phase == "Scoring":
        # It was made when Draining began, and is lost.
        del world.objects["Job", "t-scoring-1"], world.objects["Pod", "t-scoring-1-x"]
    world.answers = fail("apply", "create", kind=kind)
    world.run_on(seconds=10)
    shown = world.condition("Reconciling")
    assert (shown["status"], shown["reason"]) == ("False", "RequestRefused")
    assert "exceeded quota" in shown["message"]
    assert "ResourceQuota" in shown["message"]
    assert reasons(world).count("RequestRefused") == 1
    world.run_on(until="CleaningUp")
    assert seconds_of(world, phase) < REFUSAL_PATIENCE + 25
    world.answers = fail()
    status = world.run_on()
    assert "exceeded quota" in status["summary"]
    assert reasons(world).count("RequestRefused") <= 2, "one when it began, one at the end"


def test_run_refused_for_a_while_goes_on_and_says_so() -> None:
    world = in_phase("Provisioning")
    world.answers = fail("apply", kind="Pod")
    world.run_on(seconds=60)
    assert world.condition("Reconciling")["status"] == "False"
    world.answers = fail()
    status = world.run_on(until="Warmup")
    shown = world.condition("Reconciling")
    assert (shown["status"], shown["reason"]) == ("True", "Reconciled")
    assert "reconcileFailure" not in status
    status = world.run_on()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")
    assert world.condition("Reconciling")["reason"] == "RunFinished"
    assert (reasons(world).count("RequestRefused"), reasons(world).count("Reconciled")) == (1, 1)


def test_run_without_failures_has_no_condition_reconciling(world: World) -> None:
    world.run()
    assert "Reconciling" not in {each["type"] for each in world.status["conditions"]}
    assert "reconcileFailure" not in world.status


def test_apply_with_one_object_refused_applies_the_others() -> None:
    world = in_phase("Provisioning")
    world.answers = fail("apply", kind="Pod")
    world.run_on(seconds=20)
    assert {"t-recorder", "t-traffic", "t-scoring"} <= world.names_of("ServiceAccount")


@pytest.mark.parametrize("phase", ["Provisioning", "DumpingReplicas", "Scoring"])
def test_pods_of_sets_and_jobs_that_are_refused_end_the_run_with_the_refusal(phase: str) -> None:
    world = in_phase(phase)
    world.pods_refused = QUOTA
    if phase == "Scoring":
        # It was made when Draining began, and is lost before it ran.
        del world.objects["Job", "t-scoring-1"]["driver"], world.objects["Pod", "t-scoring-1-x"]
    world.run_on(seconds=40)
    shown = world.condition("Reconciling")
    assert (shown["status"], shown["reason"]) == ("False", "RequestRefused")
    world.run_on(until="CleaningUp")
    assert seconds_of(world, phase) < REFUSAL_PATIENCE + 45
    status = world.run_on()
    assert "exceeded quota" in status["summary"]
    assert "ResourceQuota" in status["summary"]


def test_pods_of_sets_that_are_late_are_asked_for_and_not_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = in_phase("Provisioning")
    asked: list[str] = []
    world.answers = lambda verb, _, name: asked.append(name) if verb == "check" else None
    with monkeypatch.context() as slow:
        slow.setattr(world, "_keep_pod", lambda *_: None)
        world.run_on(seconds=40)
    assert "t-kafka-0-0" in asked
    assert world.run_on()["verdict"] == "Passed"
    assert world.errors == []


def test_deadline_after_refusals_names_them() -> None:
    world = World(timeouts={"provisioning": "60s"})
    world.run(until="Provisioning")
    world.answers = fail("apply", kind="Pod")
    status = world.run_on()
    assert status["phase"] == "Error"
    assert world.condition("Provisioned")["reason"] == "ProvisioningTimedOut"
    assert "exceeded quota" in status["summary"]


@pytest.mark.parametrize("phase", PHASES)
def test_plan_of_another_version_in_any_phase_ends_the_run_and_cleans_up(phase: str) -> None:
    world = in_phase(phase)
    if phase == "Pending":
        world.run(until="Provisioning")
        world.test["status"]["phase"] = "Pending"
        del world.test["status"]["phases"][1:]
    plan = world.objects["ConfigMap", "t-plan"]["data"]
    plan["plan.json"] = json.dumps(json.loads(plan["plan.json"]) | {"schemaVersion": 99})
    began = world.time
    status = world.run_on()
    assert world.time - began < timedelta(seconds=90)
    assert status["verdict"] == "Inconclusive"
    assert status["phase"] == ("Completed" if phase == "Scoring" else "Error")
    assert "99" in status["summary"]
    assert "PlanUnreadable" in reasons(world)
    assert len(world.errors) == 1
    assert isinstance(world.errors[0], PlanUnreadableError)
    left = {key for key in world.objects if key[0] not in {"KafkaResilienceTest", "ConfigMap"}}
    assert left <= {
        ("PersistentVolumeClaim", "krt-evidence"),
        ("ServiceAccount", "t-scoring"),
        ("RoleBinding", "t-scoring"),
    }
    assert world.names_of("ConfigMap") <= {"t-plan", "t-control", "t-scripts"}


def test_plan_of_another_version_frees_the_slot_of_its_test() -> None:
    world = in_phase("Warmup")
    world.objects["ConfigMap", "t-plan"]["data"]["plan.json"] = "{}"
    world.run_on()
    assert world.status["phase"] == "Error"
    assert world.condition("Finished")["status"] == "True"


def test_plan_of_another_version_after_the_verdict_keeps_the_verdict() -> None:
    world = in_phase("Scoring")
    world.run(until="CleaningUp")
    world.objects["ConfigMap", "t-plan"]["data"]["plan.json"] = "{}"
    status = world.run_on()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")
    assert world.names_of("StatefulSet") == set()


def world_with_a_broker_down(cleanup: str) -> World:
    """A run in which a fault keeps broker 0 down for five minutes."""
    down = {
        "name": "down",
        "action": "DeletePod",
        "target": {"role": "Broker", "ordinals": [0]},
        "duration": "5m",
    }
    world = World(faults=[down], cleanup=cleanup)
    world.run(until="Injecting")
    world.run(seconds=20)
    return world


@pytest.mark.parametrize("cleanup", ["Delete", "Retain"])
def test_plan_of_another_version_with_members_kept_down_says_how_to_start_them(
    cleanup: str,
) -> None:
    world = world_with_a_broker_down(cleanup)
    assert world.objects["StatefulSet", "t-kafka-0"]["spec"]["replicas"] == 0
    world.objects["ConfigMap", "t-plan"]["data"]["plan.json"] = "{}"
    assert world.run_on()["phase"] == "Error"
    message = world.condition("Finished")["message"]
    assert ("kubectl scale statefulset t-kafka-0" in message) is (cleanup == "Retain")
    assert (world.names_of("StatefulSet") == set()) is (cleanup == "Delete")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("error", [RefusedError(RIGHT), TransientError("HTTP 503"), KeyError("x")])
def test_abort_while_passes_fail_is_carried_out(phase: str, error: Exception) -> None:
    world = in_phase(phase)
    world.answers = fail("list", error=error, kind="Pod")
    world.run_on(seconds=10)
    world.test["spec"]["abort"] = True
    world.run_on(until="CleaningUp", seconds=30)
    assert world.status["phase"] == "CleaningUp"
    world.answers = fail()
    status = world.run_on()
    assert (status["phase"], status["ending"]) == ("Aborted", "AbortedByUser")
    assert world.names_of("StatefulSet") == set()


@pytest.mark.parametrize("phase", PHASES)
def test_requests_that_fail_for_ever_end_the_run_in_any_phase(phase: str) -> None:
    limits = dict.fromkeys(
        ("provisioning", "warmup", "recovery", "drain", "replicaDump", "scoring"), "60s"
    )
    world = World(evidence={"compareReplicas": True}, timeouts=limits)
    if phase != "Pending":
        world.run(until=phase)
    unavailable = TransientError("GET /api/v1/namespaces/ns/pods: HTTP 503: unavailable")
    world.answers = fail("list", error=unavailable, kind="Pod")
    world.run_on(seconds=RETRY_PATIENCE - 10)
    assert "RequestFailed" not in reasons(world), "one that is over soon is not reported"
    world.run_on(until="CleaningUp")
    assert "RequestFailed" in reasons(world)
    assert "HTTP 503" in world.status["summary"]
    world.answers = fail()
    assert world.run_on()["verdict"] == "Inconclusive"


@pytest.mark.parametrize("phase", ["Pending", "Warmup", "Injecting", "Scoring"])
@pytest.mark.parametrize(
    "errors",
    [
        (RefusedError(RIGHT), TransientError("HTTP 500")),
        (RefusedError(RIGHT), NameTakenError("Pod t-kafka-0-0 belongs to somebody else")),
    ],
)
def test_requests_that_fail_in_turns_for_ever_end_the_run(
    phase: str, errors: tuple[Exception, Exception]
) -> None:
    limits = dict.fromkeys(("provisioning", "warmup", "recovery", "scoring"), "60s")
    world = World(timeouts=limits)
    if phase != "Pending":
        world.run(until=phase)
    turns = itertools.cycle(errors)
    world.answers = lambda verb, of, _: next(turns) if (verb, of) == ("list", "Pod") else None
    began = world.time
    world.run_on(until="CleaningUp")
    assert world.status["phase"] == "CleaningUp"
    assert world.time - began < timedelta(seconds=200)
    assert world.status["verdict"] == "Inconclusive"


def test_request_that_fails_once_leaves_no_trace() -> None:
    world = in_phase("Provisioning")
    world.answers = fail("list", error=TransientError("HTTP 503"))
    world.run_on(seconds=8)
    world.answers = fail()
    assert world.run_on()["verdict"] == "Passed"
    assert {"RequestFailed", "Reconciled"}.isdisjoint(reasons(world))
    assert "Reconciling" not in {each["type"] for each in world.status["conditions"]}


@pytest.mark.parametrize(
    ("error", "patience"),
    [(RefusedError(RIGHT), REFUSAL_PATIENCE), (TransientError("503"), CLEANUP_FAILURE_PATIENCE)],
)
def test_cleanup_that_fails_finishes_and_says_what_is_left(
    error: Exception, patience: float
) -> None:
    world = in_phase("Scoring")
    world.run(until="CleaningUp")
    world.answers = fail("list", error=error, kind="Pod")
    began = world.time
    status = world.run_on(seconds=1000)
    assert timedelta(seconds=patience) <= world.time - began < timedelta(seconds=patience + 30)
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")
    assert "delete the test" in world.condition("Finished")["message"]
    assert reasons(world).count("CleanupIncomplete") == 1


@pytest.mark.parametrize("cleanup", ["Delete", "Retain"])
def test_cleanup_that_fails_leaves_no_fault_open(cleanup: str) -> None:
    world = world_with_a_broker_down(cleanup)
    assert world.status["activeFaults"] == "down"
    world.test["spec"]["abort"] = True
    world.run(until="CleaningUp")
    world.answers = fail("list", error=RefusedError(RIGHT), kind="Pod")
    status = world.run_on(seconds=1000)
    assert status["phase"] == "Aborted"
    assert [each["state"] for each in status["faults"]] == ["Reverted"]
    assert status["activeFaults"] == ""


def test_cleanup_whose_deletions_are_refused_deletes_the_rest_and_names_what_is_left() -> None:
    world = in_phase("Injecting")
    world.notes_topics_read = False
    world.run(until="CleaningUp")

    world.answers = lambda verb, _, name: (
        RefusedError("denied") if (verb, name) == ("delete", "t-producer-a-0") else None
    )
    began = world.time
    status = world.run_on()
    assert world.time - began < timedelta(seconds=CLEANUP_PATIENCE + 30)
    assert status["phase"] == "Completed"
    assert "Pod t-producer-a-0" in world.condition("Finished")["message"]
    assert world.names_of("Pod") <= {"t-producer-a-0", "t-scoring-1-x"}


def test_resource_unreadable_is_reported_and_ends_the_run() -> None:
    world = in_phase("Warmup")
    world.test["spec"]["newField"] = {"of": "another release"}
    world.run_on(seconds=10)
    shown = world.condition("Reconciling")
    assert (shown["status"], shown["reason"]) == ("False", "ResourceUnreadable")
    assert "newField" in shown["message"]
    assert world.status["phase"] == "Warmup"
    status = world.run_on()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    assert world.condition("TrafficEstablished")["reason"] == "ResourceUnreadable"
    assert world.names_of("StatefulSet") == set()


def test_resource_unreadable_during_a_rollout_goes_on_after_it() -> None:
    world = in_phase("Warmup")
    world.test["spec"]["newField"] = True
    world.run_on(seconds=REFUSAL_PATIENCE - 30)
    del world.test["spec"]["newField"]
    assert world.run_on()["verdict"] == "Passed"


def test_status_of_another_release_is_kept_until_the_run_ends() -> None:
    world = in_phase("Warmup")
    before = world.status["phases"]
    before.append({"name": "Resting", "startTime": before[-1]["startTime"]})
    world.test["status"]["phases"] = before
    world.run_on(seconds=30)
    assert world.status["phases"] == before
    assert world.condition("Reconciling")["reason"] == "ResourceUnreadable"
    assert world.run_on()["phase"] == "Error"


def test_phase_of_another_release_ends_the_run_and_does_not_begin_it_again() -> None:
    world = in_phase("Injecting")
    world.test["status"]["phase"] = "Resting"
    world.run_on(seconds=30)
    assert world.status["phase"] == "Resting"
    assert world.run_on()["phase"] == "Error"
    assert world.names_of("StatefulSet") == set()


def test_invalid_spec_with_abort_is_aborted() -> None:
    world = in_phase("Warmup")
    world.test["spec"]["newField"] = True
    world.test["spec"]["abort"] = True
    world.run_on()
    assert world.status["phase"] == "Aborted"


def test_user_error_of_a_side_effect_ends_the_run_with_its_field_and_remedy() -> None:
    world = in_phase("Provisioning")
    error = UserError("KafkaNotAuthorized", "spec.kafka", "not allowed; give the user the right")
    world.answers = fail("create", error=error, kind="PersistentVolumeClaim")
    status = world.run_on()
    assert status["phase"] == "Error"
    assert status["summary"] == f"KafkaNotAuthorized: {error}"


def test_queue_with_a_test_in_a_phase_of_another_release_counts_it_as_at_work(
    world: World,
) -> None:
    def other(name: str) -> dict[str, Any]:
        created = "2026-11-21T03:00:00Z"
        meta = {"namespace": "ns", "name": name, "uid": name, "creationTimestamp": created}
        return {"kind": "KafkaResilienceTest", "metadata": meta, "status": {"phase": "Resting"}}

    world.objects["KafkaResilienceTest", "a"] = other("a")
    world.run_on(until="Provisioning", seconds=60)
    assert world.status["phase"] == "Provisioning"
    world = World()
    for name in ("a", "b"):
        world.objects["KafkaResilienceTest", name] = other(name)
    world.run_on(seconds=30)
    assert world.condition("Provisioned")["reason"] == "Queued"


def test_defect_of_the_controller_is_reported_and_ends_at_the_deadline() -> None:
    world = in_phase("Provisioning")
    world.answers = fail("list", error=KeyError("spec"), kind="Pod")
    world.run_on(seconds=10)
    shown = world.condition("Reconciling")
    assert shown["reason"] == "ControllerDefect"
    assert "KeyError" in shown["message"]
    assert "report it" in shown["message"]
    world.run_on(until="CleaningUp")
    assert seconds_of(world, "Provisioning") > REFUSAL_PATIENCE, "a fixed release may continue it"


def test_kafka_defect_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    world = in_phase("Warmup")

    def fails(_self: FakeKafka, _topics: list[str]) -> list[Any]:
        raise KafkaDefectError("reading offsets: Kafka answered X; please report it")

    monkeypatch.setattr(FakeKafka, "bounds", fails)
    world.run_on(seconds=15)
    assert world.condition("Reconciling")["reason"] == "KafkaRequestFailed"


def test_status_that_is_refused_is_an_event() -> None:
    world = in_phase("Warmup")
    refused = RefusedError('HTTP 400: unknown field "status.ending"')
    world.answers = fail("update", kind="KafkaResilienceTest", error=refused)
    world.run_on(seconds=60)
    (event,) = [each for each in world.events if each["reason"] == "StatusRefused"]
    assert "install CRD, chart and controller of one release" in event["message"]


def test_event_refused_by_a_busy_api_server_is_kept_and_skips_no_metrics(world: World) -> None:
    busy = [TransientError("HTTP 429")] * 3

    def answer(verb: str, kind: str, name: str) -> Exception | None:
        return busy.pop() if (verb, kind, name) == ("create", "Event", "Planned") and busy else None

    world.answers = answer
    world.run_on()
    assert reasons(world).count("Planned") == 1
    assert reasons(world).index("Planned") == 0, "in order"
    for phase in ("Pending", "Provisioning", "Scoring"):
        value = world.metrics.registry.get_sample_value(
            "krt_phase_duration_seconds_count", {"phase": phase}
        )
        assert value == 1, phase
    assert world.errors == []


def test_last_events_refused_by_a_busy_api_server_are_created_later(world: World) -> None:
    busy = [TransientError("HTTP 429")] * 3

    def answer(verb: str, kind: str, name: str) -> Exception | None:
        return (
            busy.pop() if (verb, kind, name) == ("create", "Event", "Completed") and busy else None
        )

    world.answers = answer
    world.run_on()
    assert reasons(world)[-1] == "Completed"
    verdicts = world.metrics.registry.get_sample_value("krt_tests_total", {"verdict": "Passed"})
    assert verdicts == 1


def test_event_that_is_never_taken_is_dropped_and_stops_nothing(world: World) -> None:
    world.answers = lambda verb, kind, _: (
        RefusedError("no events here") if (verb, kind) == ("create", "Event") else None
    )
    assert world.run_on()["phase"] == "Completed"
    assert world.events == []
    assert world.errors == []


def test_ending_is_read_from_its_field_and_not_from_a_condition() -> None:
    world = in_phase("Warmup")
    world.test["spec"]["abort"] = True
    world.run(until="CleaningUp")
    world.condition("Succeeded")["reason"] = "Rewritten"
    assert world.run()["phase"] == "Aborted"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (QUOTA, "ResourceQuota"),
        (RIGHT, "give the controller this right"),
        ('violates PodSecurity "restricted:latest": privileged', "spec.podTemplate"),
        ('admission webhook "x.y" denied the request: no', "webhook's policy"),
        ("ValidatingAdmissionPolicy 'p' denied request", "change the policy"),
        ("maximum memory usage per Container is 1Gi, but limit is 2Gi", "LimitRange"),
        ("HTTP 422: Pod is invalid: spec.x: Invalid value", "correct in the spec"),
    ],
)
def test_refusal_message_has_the_text_and_its_remedy(text: str, remedy: str) -> None:
    error = RefusedError(text)
    message = message_of(error, classify(error))
    assert text in message
    assert remedy in message


def test_message_of_a_long_error_keeps_its_remedy() -> None:
    error = RefusedError("exceeded quota " + "x" * 5000)
    message = message_of(error, classify(error))
    assert len(message) <= 1024
    assert "ResourceQuota" in message
