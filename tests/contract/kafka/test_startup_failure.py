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
from tests.unit.operator.doubles.plans import sample_plan

from krt_operator.build.members import build_member
from krt_operator.health.member_startup import find_setting

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = files("krt_operator") / "templates" / "scripts" / "member.sh"


def run_member(folder: Path, section: str, config: dict[str, str]) -> dict[str, Any]:
    """Start a member's command with its files until it fails; return its termination message."""
    plan = sample_plan(lambda spec: spec[section].update(config=config))
    member = (plan.brokers if section == "kafka" else plan.zookeepers)[0]
    objects = build_member(plan, member, "IfNotPresent")
    (stateful_set,) = [obj for obj in objects if obj["kind"] == "StatefulSet"]
    (config_map,) = [obj for obj in objects if obj["kind"] == "ConfigMap"]
    places = {
        "/opt/kafka/libs": str(jars()),
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
        env={**os.environ, "KRT_MEMBER": member.member, "KRT_MYID": "1"},
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
    if (reason := missing()) is not None:
        unavailable(f"no member can be started: {reason}")
    message = run_member(tmp_path, section, config)
    assert message == {"krt": "member", "failures": 1, "error": error}
    assert find_setting(config, message["error"]) == next(iter(config))
    again = run_member(tmp_path, section, config)
    assert again == {**message, "failures": 2}
