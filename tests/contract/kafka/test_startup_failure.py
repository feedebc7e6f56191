"""What a real member's script and log configuration report when it cannot start."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.tools import unavailable
from tests.contract.traffic.local_kafka import jars, missing
from tests.contract.traffic.local_kraft import NEWEST, OLDEST
from tests.unit.operator.doubles.plans import sample_plan

from krt_contract.members import MemberKind
from krt_operator.build.members import build_member
from krt_operator.health.member_startup import find_setting

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.members import Member
    from krt_operator.api.plan import Plan

SCRIPT = files("krt_operator") / "templates" / "scripts" / "member.sh"


def run_member(
    folder: Path, plan: Plan, member: Member, version: str | None = None
) -> dict[str, Any]:
    """Start a member's command with its files until it fails; return its termination message."""
    if (reason := missing()) is not None:
        unavailable(f"no member can be started: {reason}")
    objects = build_member(plan, member, "IfNotPresent")
    (stateful_set,) = [obj for obj in objects if obj["kind"] == "StatefulSet"]
    (config_map,) = [obj for obj in objects if obj["kind"] == "ConfigMap"]
    places = {
        "/opt/kafka/libs": str(jars(version)),
        "/krt/config": str(folder),
        "/run/krt": str(folder),
        "/data": str(folder / "data"),
        "/dev/termination-log": str(folder / "termination-log"),
    }

    def moved(text: str) -> str:
        for place, here in places.items():
            text = text.replace(place, here)
        return text

    for name, text in config_map["data"].items():
        (folder / name).write_text(moved(text))
    script = folder / "member.sh"
    script.write_text(moved(SCRIPT.read_text()))
    (container,) = stateful_set["spec"]["template"]["spec"]["containers"]
    done = subprocess.run(
        ["bash", str(script), *(moved(word) for word in container["args"])],
        env=os.environ
        | {item["name"]: moved(item["value"]) for item in container["env"] if "value" in item},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode > 0, done.stdout
    message: dict[str, Any] = json.loads((folder / "termination-log").read_text())
    return message


@pytest.mark.parametrize(
    ("section", "config", "error"),
    [
        (
            "kafka",
            {"num.io.threads": "many"},
            (
                "org.apache.kafka.common.config.ConfigException: Invalid value many for "
                "configuration num.io.threads: Not a number of type INT"
            ),
        ),
        (
            "kafka",
            {"max.connections.per.ip.overrides": "x"},
            (
                "java.lang.IllegalArgumentException: Error parsing configuration property "
                "'max.connections.per.ip.overrides': begin 0, end -1, length 1"
            ),
        ),
        (
            "zookeeper",
            {"maxClientCnxns": "many"},
            'java.lang.NumberFormatException: For input string: "many"',
        ),
    ],
)
def test_member_with_wrong_setting_reports_the_error_and_the_setting_is_found(
    tmp_path: Path, section: str, config: dict[str, str], error: str
) -> None:
    plan = sample_plan(lambda spec: spec[section].update(config=config))
    member = (plan.brokers if section == "kafka" else plan.zookeepers)[0]
    message = run_member(tmp_path, plan, member)
    assert message == {"krt": "member", "failures": 1, "error": error}
    assert find_setting(config, message["error"]) == next(iter(config))
    again = run_member(tmp_path, plan, member)
    assert again == {**message, "failures": 2}


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize(
    ("kind", "config"),
    [
        # Refused when the member's folder is formatted, which logs nothing.
        (MemberKind.CONTROLLER, {"num.io.threads": "many"}),
        # Refused by the broker.
        (MemberKind.KAFKA, {"metric.reporters": "no.such.Reporter"}),
    ],
)
def test_kraft_member_with_wrong_setting_reports_the_error(
    tmp_path: Path, version: str, kind: MemberKind, config: dict[str, str]
) -> None:
    def change(spec: Any) -> None:
        kafka = spec["kafka"]
        owner = kafka if kind is MemberKind.KAFKA else kafka["metadata"]["controllers"]
        owner["config"] = config

    plan = sample_plan(change, "sample-kraft.yaml")
    member = (plan.brokers if kind is MemberKind.KAFKA else plan.controllers)[0]
    message = run_member(tmp_path, plan, member, version)
    assert message["failures"] == 1
    assert message["error"].startswith(("java.lang.", "org.apache.kafka."))
    assert next(iter(config.values())) in message["error"]
