from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.crd.cases import sample

from krt_operator.api.conditions import Condition, ConditionStatus, ConditionType
from krt_operator.api.status import (
    Ending,
    ExpectationResults,
    FaultState,
    FaultStatus,
    InconclusiveReason,
    InconclusiveReasonKind,
    KafkaObjects,
    Observation,
    ObservationKind,
    Phase,
    PhaseRecord,
    ReconcileFailure,
    Report,
    SelfTest,
    Status,
    TargetPod,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.crd.conftest import ApiServer

RESOURCE = "kafkaresiliencetests.contract.kafkaresilience.dev/finished"
NOW = datetime(2026, 11, 21, 4, 3, 19, 123456, tzinfo=UTC)
FULL = Status(
    observed_generation=1,
    phase=Phase.COMPLETED,
    start_time=NOW,
    completion_time=NOW,
    verdict=Verdict.PASSED,
    ending=Ending.VERDICT_REACHED,
    score=97,
    summary="nothing lost",
    conditions=tuple(
        Condition(
            type=type_,
            status=ConditionStatus.TRUE,
            reason="Done",
            message="It is so.",
            last_transition_time=NOW,
            observed_generation=1,
        )
        for type_ in ConditionType
    ),
    phases=tuple(PhaseRecord(name=phase, start_time=NOW, end_time=NOW) for phase in Phase),
    faults=(
        FaultStatus(
            name="leader-down",
            state=FaultState.ACTIVE,
            targets=(
                TargetPod(
                    pod="t-kafka-0-0",
                    uid="u",
                    member="kafka-0",
                    role="PartitionLeader",
                    node="n",
                    zone="z",
                ),
            ),
            due_at=NOW,
            scheduled_at=NOW,
            injected_at=NOW,
            reverted_at=NOW,
            recovered_at=NOW,
            recovery_timed_out_at=NOW,
            attempt=1,
            verified=True,
            observations=tuple(
                Observation(kind=kind, subject="t-kafka-0-0", at=NOW, detail="d")
                for kind in ObservationKind
            ),
            message="held",
        ),
    ),
    inconclusive_reasons=(
        InconclusiveReason(
            code="FaultNotVerified", kind=InconclusiveReasonKind.COVERAGE, message="m", at=NOW
        ),
    ),
    omitted_reasons=("TrafficPodLost/1a2b3c4d5e6f",),
    ledger={"attempted": 3, "acked": 3, "lostAfterDelivery": 0},
    expectation_results=ExpectationResults(
        met=3, not_met=("loss",), not_evaluated=("rebalances readers",)
    ),
    self_test=SelfTest(detected=30, total=31),
    report=Report(config_map="finished-scorecard", path="n/finished/u"),
    reconcile_failure=ReconcileFailure(reason="Refused", since=NOW, reported=True),
    kafka_objects=KafkaObjects(topics=("krt-foo",), groups=("krt-readers",)),
    scoring_attempt=1,
)


@pytest.fixture(scope="module")
def written(server: ApiServer) -> Iterator[Any]:
    """A resource whose status was written as the controller writes it: PUT on /status."""
    created = server.run("create", "-f", "-", "-o", "json", body=server.test("finished", sample()))
    assert created.ok, created.text
    body = {**created.json(), "status": FULL.dump()}
    answer = server.run(
        *("replace", "--subresource=status", "--validate=strict", "-f", "-", "-o", "json"),
        body=body,
    )
    assert answer.ok, answer.text
    yield answer.json()
    server.run("delete", RESOURCE, "--wait=false")


def test_nothing_of_the_status_is_pruned(written: Any) -> None:
    assert written["status"] == FULL.dump()
    assert Status.model_validate(written["status"]) == FULL


def test_every_field_of_the_models_was_written() -> None:
    """So that a field added to a model and not to this example is noticed."""
    assert FULL.model_fields_set == Status.model_fields.keys()
    assert FULL.faults[0].model_fields_set == FaultStatus.model_fields.keys()


@pytest.mark.usefixtures("written")
def test_users_can_wait_for_the_end(server: ApiServer) -> None:
    answer = server.run("wait", RESOURCE, "--for=condition=Finished", "--timeout=5s")
    assert answer.ok, answer.text


@pytest.mark.usefixtures("written")
def test_columns(server: ApiServer) -> None:
    lines = server.run("get", RESOURCE, "-o", "wide").output.splitlines()
    assert lines[0].split() == [
        *("NAME", "PHASE", "VERDICT", "SCORE", "EXPECTED", "FAULT", "SUMMARY", "AGE")
    ]
    columns = lines[1].split()[:6]
    assert columns == ["finished", "Completed", "Passed", "97", "True", "leader-down"]
    narrow = server.run("get", RESOURCE).output.splitlines()[0]
    assert "SUMMARY" not in narrow


@pytest.mark.parametrize(
    ("path", "value"),
    [("phase", "Done"), ("verdict", "Good"), ("score", 101), ("faults", [{"state": "Active"}])],
)
@pytest.mark.usefixtures("written")
def test_a_wrong_status_is_refused(server: ApiServer, path: str, value: Any) -> None:
    patch = json.dumps({"status": {path: value}})
    answer = server.run(
        *("patch", RESOURCE, "--subresource=status", "--type=merge", "--dry-run=server"),
        *("-p", patch),
    )
    assert not answer.ok
    assert f"status.{path}" in answer.text
