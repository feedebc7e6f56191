from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from krt_operator.build.render import script
from krt_operator.faults import ephemeral

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


def test_build_container_has_only_the_image_and_rights_of_its_target() -> None:
    built = ephemeral.build_container(POD, ephemeral.Signal("krt-crash-f-1", "KILL", ("hold",)))
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
    built = ephemeral.build_container(pod, ephemeral.Signal("krt-crash-f-1", "KILL", ("hold",)))
    assert built["imagePullPolicy"] == policy


def test_build_container_traffic_gets_no_hold_file() -> None:
    pod = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "traffic", "image": "krt-traffic:1"}]},
    }
    built = ephemeral.build_container(pod, ephemeral.Signal("krt-crash-f-1", "KILL", ("hold",)))
    assert built["command"][-2:] == ["KILL", "python"]
    assert "volumeMounts" not in built


def test_build_container_thaw_of_traffic_gets_the_seconds() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "traffic", "image": "i"}]}}
    built = ephemeral.build_container(pod, ephemeral.Signal("krt-thaw-f-1", "CONT", ("5.000",)))
    assert built["command"][-3:] == ["CONT", "python", "5.000"]


def test_build_container_pod_without_a_process_under_test_is_refused() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "sidecar"}]}}
    with pytest.raises(ValueError, match="p runs no process"):
        ephemeral.build_container(pod, ephemeral.Signal("n", "KILL"))


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
            ephemeral.Report(done=True, at=datetime(2025, 11, 21, 4, 0, 0, 1, tzinfo=UTC)),
        ),
        (
            {"terminated": {"exitCode": 3, "message": "no process java to signal\n"}},
            ephemeral.Report(done=False, error="no process java to signal"),
        ),
        (
            {"terminated": {"exitCode": 137}},
            ephemeral.Report(done=False, error="ended with exit code 137 and no message"),
        ),
    ],
)
def test_read_report_termination_message_is_time_or_error(
    state: dict[str, Any], expected: ephemeral.Report | None
) -> None:
    statuses = [{"name": "krt-crash-f-1", "state": state}]
    pod = POD | {"status": {"ephemeralContainerStatuses": statuses}}
    assert ephemeral.read_report(pod, "krt-crash-f-1") == expected
    assert ephemeral.read_report(pod, "krt-crash-f-2") is None
