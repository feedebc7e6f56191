"""reassign.sh with Kafka's own tool on a real broker, its paths moved to the test's folder."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from krt_contract.entries import Topic
from krt_operator.build.render import script
from krt_operator.faults.reports import parse_report
from krt_operator.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.local_kafka import LocalKafka

    from krt_operator.faults.reports import Report


@pytest.fixture
def topic(kafka: LocalKafka) -> str:
    name = f"t-{uuid4().hex[:8]}"
    with KafkaAdmin(kafka.bootstrap) as admin:
        admin.create_topics([Topic(name, 1, 1, {}, {0: (0,)})])
    return name


def move(folder: Path, kafka: LocalKafka, topic: str, *brokers: int) -> tuple[int, Report]:
    """Run the script as the Job does; return its exit code and its report."""
    text = (
        script("reassign.sh")
        .replace("/dev/termination-log", str(folder / "report"))
        .replace("/tmp/moves.json", str(folder / "moves.json"))  # noqa: S108 - the pod's own
        .replace("/opt/kafka/libs", str(kafka.libs))
    )
    moves = {
        "version": 1,
        "partitions": [{"topic": topic, "partition": 0, "replicas": list(brokers)}],
    }
    done = subprocess.run(
        ["bash", "-c", text, "reassign.sh", kafka.bootstrap],
        check=False,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "KRT_MOVES": json.dumps(moves)},
    )
    terminated = {"exitCode": done.returncode, "message": (folder / "report").read_text()}
    return done.returncode, parse_report(terminated)


def test_reassign_script_accepted_move_can_be_submitted_again(
    tmp_path: Path, kafka: LocalKafka, topic: str
) -> None:
    for _ in range(2):
        code, report = move(tmp_path, kafka, topic, 0)
        assert (code, report.done) == (0, True)
        assert report.at is not None


def test_reassign_script_refused_move_reports_the_output_of_the_tool(
    tmp_path: Path, kafka: LocalKafka, topic: str
) -> None:
    code, report = move(tmp_path, kafka, topic, 7)
    assert code != 0
    assert not report.done
    assert "7" in report.error
