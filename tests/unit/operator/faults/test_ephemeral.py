from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.operator.doubles.objects import spec

from krt_operator.api.spec import Spec
from krt_operator.api.status import TargetPod
from krt_operator.build.render import script
from krt_operator.faults import ephemeral, reports

POD: dict[str, Any] = {
    "metadata": {"name": "t-kafka-0-0", "labels": {"kafkaresilience.dev/member": "kafka-0"}},
    "spec": {
        "containers": [
            {
                "name": "kafka",
                "image": "krt-kafka:1",
                "securityContext": {"runAsNonRoot": True},
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {"name": "run", "mountPath": "/run/krt"},
                ],
            }
        ]
    },
}


TARGET = TargetPod(pod="t-kafka-0-0", uid="u", member="kafka-0")
SPEC = Spec.model_validate(spec())


def build(pod: dict[str, Any], signal: ephemeral.Signal) -> dict[str, Any]:
    return ephemeral.build_container(ephemeral.find_process(pod, TARGET, SPEC), signal)


def test_build_container_has_only_the_image_and_rights_of_its_target() -> None:
    built = build(POD, ephemeral.Signal("krt-crash-f-1", "KILL", ("hold",)))
    assert built.pop("command") == [
        "bash", "-c", script("signal.sh"), "signal.sh", "KILL", "java", "hold",
    ]  # fmt: skip
    assert built == {
        "name": "krt-crash-f-1",
        "image": "krt-kafka:1",
        "targetContainerName": "kafka",
        "env": [{"name": "KRT_MEMBER", "value": "kafka-0"}],
        "securityContext": {"runAsNonRoot": True},
        "volumeMounts": [{"name": "run", "mountPath": "/run/krt"}],
    }


@pytest.mark.parametrize("policy", ["Always", "IfNotPresent", "Never"])
def test_build_container_pulls_its_image_as_its_target_does(policy: str) -> None:
    target = POD["spec"]["containers"][0] | {"imagePullPolicy": policy}
    pod = POD | {"spec": {"containers": [target]}}
    built = build(pod, ephemeral.Signal("krt-crash-f-1", "KILL", ("hold",)))
    assert built["imagePullPolicy"] == policy


def test_build_container_is_told_until_when_it_may_signal() -> None:
    limit = datetime(2026, 11, 21, 4, 0, 30, tzinfo=UTC)
    built = build(POD, ephemeral.Signal("krt-freeze-f-1", "STOP", not_after=limit))
    assert built["env"][1] == {"name": "KRT_NOT_AFTER", "value": "1795233630000000"}


def test_build_container_traffic_gets_no_hold_file() -> None:
    pod = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "traffic", "image": "krt-traffic:1"}]},
    }
    built = build(pod, ephemeral.Signal("krt-crash-f-1", "KILL", ("hold",)))
    assert built["command"][-2:] == ["KILL", "python"]
    assert "volumeMounts" not in built


def test_build_container_thaw_of_traffic_gets_the_seconds() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "traffic", "image": "i"}]}}
    built = build(pod, ephemeral.Signal("krt-thaw-f-1", "CONT", ("5.000",)))
    assert built["command"][-3:] == ["CONT", "python", "5.000"]


def test_build_container_pod_without_a_process_under_test_is_refused() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "sidecar"}]}}
    with pytest.raises(ValueError, match="p runs no process"):
        build(pod, ephemeral.Signal("n", "KILL"))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"running": {}}, None),
        (
            {
                "terminated": {
                    "exitCode": 0,
                    "message": '{"event":"killed","at":1763697600000001}\n',
                }
            },
            reports.Report(done=True, at=datetime(2025, 11, 21, 4, 0, 0, 1, tzinfo=UTC)),
        ),
        (
            {"terminated": {"exitCode": 3, "message": "no process java to signal\n"}},
            reports.Report(done=False, error="no process java to signal", untouched=True),
        ),
        (
            {"terminated": {"exitCode": 137}},
            reports.Report(done=False, error="ended with exit code 137 and no message"),
        ),
    ],
)
def test_read_report_termination_message_is_time_or_error(
    state: dict[str, Any], expected: reports.Report | None
) -> None:
    statuses = [{"name": "krt-crash-f-1", "state": state}]
    pod = POD | {"status": {"ephemeralContainerStatuses": statuses}}
    assert reports.read_report(pod, "krt-crash-f-1") == expected
    assert reports.read_report(pod, "krt-crash-f-2") is None


def brokers_pod(*names: str, **fields: Any) -> dict[str, Any]:
    containers = [{"name": name, "image": f"{name}:1"} for name in names]
    return {"metadata": {"name": "b"}, "spec": {"containers": containers, **fields}}


def process_of(pod: dict[str, Any], container: str | None = None) -> ephemeral.Process:
    """The process of a broker that somebody else runs."""
    pods = {"selector": {"matchLabels": {"app": "kafka"}}, "container": container}
    kafka_ref = {"bootstrapServers": ["k:9092"], "pods": pods}
    faults = [{"name": "f", "action": "CrashPod", "target": {"role": "Broker"}}]
    test = Spec.model_validate(spec(kafkaRef=kafka_ref, faults=faults))
    target = TargetPod(pod="b", uid="u", member="kafka-7", namespace="kafka")
    return ephemeral.find_process(pod, target, test)


@pytest.mark.parametrize(
    ("names", "container", "expected"),
    [
        (("exporter", "kafka"), None, "kafka"),
        (("broker",), None, "broker"),
        (("kafka", "broker"), "broker", "broker"),
    ],
)
def test_find_process_of_a_broker_by_name_or_as_the_only_one(
    names: tuple[str, ...], container: str | None, expected: str
) -> None:
    assert process_of(brokers_pod(*names), container).container["name"] == expected


@pytest.mark.parametrize(
    ("names", "container"), [(("broker", "exporter"), None), (("kafka",), "broker")]
)
def test_find_process_of_a_broker_among_unknown_containers_is_refused(
    names: tuple[str, ...], container: str | None
) -> None:
    with pytest.raises(ValueError, match="b runs no process"):
        process_of(brokers_pod(*names), container)


def test_build_container_of_a_broker_has_its_image_and_user_and_looks_for_kafka() -> None:
    pod = brokers_pod("exporter", "kafka", securityContext={"runAsUser": 1001})
    pod["spec"]["containers"][1]["securityContext"] = {"capabilities": {"drop": ["ALL"]}}
    built = ephemeral.build_container(
        process_of(pod), ephemeral.Signal("krt-crash-f-1", "KILL", ("release",))
    )
    # No hold file: nothing in this container would remove it.
    assert built.pop("command")[3:] == ["signal.sh", "KILL", "java"]
    assert built == {
        "name": "krt-crash-f-1",
        "image": "kafka:1",
        "targetContainerName": "kafka",
        "env": [
            {"name": "KRT_MEMBER", "value": "kafka-7"},
            {"name": "KRT_ARGUMENT", "value": "kafka.Kafka"},
        ],
        "securityContext": {"capabilities": {"drop": ["ALL"]}},
    }


@pytest.mark.parametrize(
    ("code", "reason", "final", "untouched"),
    [
        (3, "Error", False, True),
        (4, "Error", True, True),
        (5, "Error", False, False),
        (137, "OOMKilled", False, False),
        (128, "StartError", True, True),
    ],
)
def test_read_report_says_whether_to_try_again_and_what_was_touched(
    code: int, reason: str, final: bool, untouched: bool
) -> None:
    ended = {"exitCode": code, "reason": reason, "message": "why"}
    statuses = [{"name": "c", "state": {"terminated": ended}}]
    report = reports.read_report(POD | {"status": {"ephemeralContainerStatuses": statuses}}, "c")
    assert report is not None
    assert (report.final, report.untouched) == (final, untouched)
