"""Settings that the Kafka client refuses: found before anything runs, and by every pod."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.traffic.plans import document

from krt_contract.exits import TrafficExit

if TYPE_CHECKING:
    from pathlib import Path


def run(role: str, variables: dict[str, str]) -> int:
    """Run a role as a process of its own: it sets a umask and starts threads."""
    command = [sys.executable, "-m", "krt_traffic", role]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("KRT_")}
    done = subprocess.run(
        command, env=inherited | variables, capture_output=True, timeout=30, check=False
    )
    return done.returncode


@pytest.fixture
def pod(tmp_path: Path) -> Any:
    """Runs a role with a plan; returns the exit status and the termination message."""

    def start(role: str, plan: dict[str, Any], name: str = "") -> tuple[int, dict[str, Any]]:
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        log = tmp_path / "termination-log"
        variables = {
            "KRT_PLAN": str(tmp_path / "plan.json"),
            "KRT_EVIDENCE": str(tmp_path / "evidence"),
            "KRT_CONTROL": "t-control",
            "KRT_NAMESPACE": "ns",
            "KRT_TEST": "t",
            "KRT_TEST_UID": "u",
            "KRT_POD": "t-pod",
            "KRT_POD_UID": "p1",
            "KRT_NAME": name,
            "KRT_API": "http://127.0.0.1:1",
            "KRT_TERMINATION_LOG": str(log),
        }
        return run(role, variables), json.loads(log.read_text())

    return start


def plan_with(**config: dict[str, str]) -> dict[str, Any]:
    """A plan of a producer, a consumer and a consumer with an output, with these settings."""
    plan = document(config=config.get("producer", {}))
    (reader,) = plan["spec"]["traffic"]["consumers"]
    output = {
        "topic": "bar",
        "recordsPerTransaction": 50,
        "abortPermille": 0,
        "valueBytes": 300,
        "config": config.get("output", {}),
    }
    plan["topics"].append({"name": "bar", "partitions": 1, "replicationFactor": 3})
    plan["spec"]["traffic"]["consumers"] = [
        {**reader, "config": config.get("consumer", {})},
        {**reader, "name": "copy", "group": "h", "commit": "Transactional", "output": output},
    ]
    return plan


def test_preflight_with_settings_the_client_knows_passes(pod: Any) -> None:
    status, message = pod(
        "preflight", plan_with(producer={"linger.ms": "5"}, consumer={"session.timeout.ms": "9000"})
    )
    assert status == TrafficExit.DONE
    assert message["counts"] == {"checked": 4}


@pytest.mark.parametrize(
    ("config", "field", "says"),
    [
        (
            {"producer": {"linger.ms": "5", "no.such.setting": "1"}},
            "spec.traffic.producers[main].config[no.such.setting]",
            "No such configuration property",
        ),
        (
            # librdkafka reports it as queue.buffering.max.ms.
            {"producer": {"linger.ms": "soon"}},
            "spec.traffic.producers[main].config[linger.ms]",
            "Invalid value",
        ),
        (
            {"consumer": {"session.timeout.ms": "900000"}},
            "spec.traffic.consumers[read].config[session.timeout.ms]",
            "max.poll.interval.ms",
        ),
        (
            {"consumer": {"session.timeout.ms": "60000", "max.poll.interval.ms": "50000"}},
            "spec.traffic.consumers[read].config",
            "must be >= `session.timeout.ms`",
        ),
        (
            {"output": {"transaction.timeout.ms": "1"}},
            "spec.traffic.consumers[copy].output.config[transaction.timeout.ms]",
            "outside allowed range",
        ),
        (
            {"producer": {"error_cb": "x"}},
            "spec.traffic.producers[main].config[error_cb]",
            "callable",
        ),
    ],
)
def test_preflight_with_refused_setting_names_it_and_the_remedy(
    pod: Any, config: dict[str, dict[str, str]], field: str, says: str
) -> None:
    status, message = pod("preflight", plan_with(**config))
    assert (status, message["field"], message["reason"]) == (
        TrafficExit.UNUSABLE,
        field,
        "unusable",
    )
    assert message["error"].startswith(f"the Kafka client refuses {field}: ")
    assert says in message["error"]
    assert message["error"].endswith("correct it or leave it out")


@pytest.mark.parametrize(
    ("role", "name", "field"),
    [
        ("producer", "main", "spec.traffic.producers[main].config"),
        ("consumer", "read", "spec.traffic.consumers[read].config"),
        ("consumer", "copy", "spec.traffic.consumers[copy].output.config"),
    ],
)
def test_pod_with_refused_setting_exits_unusable_with_a_message(
    pod: Any, role: str, name: str, field: str
) -> None:
    refused = {"no.such.setting": "1"}
    plan = plan_with(producer=refused, consumer=refused, output=refused)
    status, message = pod(role, plan, name)
    assert (status, message["kind"], message["field"]) == (TrafficExit.UNUSABLE, role, field)
    assert "no.such.setting" in message["error"]


def test_pod_without_environment_still_writes_a_message(tmp_path: Path) -> None:
    log = tmp_path / "termination-log"
    assert run("producer", {"KRT_TERMINATION_LOG": str(log)}) == TrafficExit.UNUSABLE
    message = json.loads(log.read_text())
    assert (message["reason"], "KRT_PLAN" in message["error"]) == ("unusable", True)
