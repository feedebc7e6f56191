"""Images pushed to a registry of the user's: their names, the values for the chart, refusals."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

HACK = Path(__file__).parents[3] / "hack"

DOCKER = """#!/usr/bin/env bash
echo "$*" >>"$DOCKER_LOG"
case "$1" in
  push) [[ -z ${REFUSED:-} ]] || { echo "denied: $REFUSED" >&2; exit 1; } ;;
  context) echo default ;;
esac
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Give an environment with a docker that records its commands and pushes nothing."""
    docker = tmp_path / "bin/docker"
    docker.parent.mkdir()
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{docker.parent}{os.pathsep}{os.environ['PATH']}",
        "DOCKER_LOG": str(tmp_path / "docker.log"),
        "KRT_CACHE": str(tmp_path / "cache"),
        "KRT_STATE": str(tmp_path / "state"),
    }


def run(script: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    prelude = f"set -Eeuo pipefail\n. {HACK}/lib.sh\n. {HACK}/images/lib.sh\n"
    return subprocess.run(
        ["bash", "-c", prelude + script], env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("tag", "remote"),
    [
        ("0.1.0", "registry.example.com:5000/team/krt-operator:0.1.0"),
        ("", "registry.example.com:5000/team/krt-operator:abc123"),
    ],
)
def test_push_image_tags_and_pushes_and_prints_the_new_reference(
    home: dict[str, str], tag: str, remote: str
) -> None:
    target = "registry.example.com:5000/team"
    done = run(f"push_image localhost:5001/krt-operator:abc123 {target} '{tag}'", home)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{remote}\n"
    commands = Path(home["DOCKER_LOG"]).read_text().splitlines()
    assert f"tag localhost:5001/krt-operator:abc123 {remote}" in commands
    assert f"push --quiet {remote}" in commands


def test_push_image_refused_ends_with_the_remedy(home: dict[str, str]) -> None:
    script = "remote=$(push_image localhost:5001/krt-kafka:a registry.example.com/team 1)\necho on"
    done = run(script, home | {"REFUSED": "requested access to the resource is denied"})
    assert done.returncode == 1
    assert "requested access to the resource is denied" in done.stderr
    assert "registry.example.com did not take registry.example.com/team/krt-kafka:1" in done.stderr
    assert "docker login registry.example.com" in done.stderr
    assert "on" not in done.stdout


@pytest.mark.parametrize(
    ("target", "tag", "message"),
    [
        ("https://registry.example.com/team", "", "without a scheme"),
        ("registry.example.com/Team", "", "lower case"),
        ("registry.example.com/team", "a tag", "is not a tag"),
        ("registry.example.com/team", "latest", "name a version"),
    ],
)
def test_check_target_with_an_unusable_name_says_what_to_write(
    home: dict[str, str], target: str, tag: str, message: str
) -> None:
    done = run(f"check_target '{target}' '{tag}'", home)
    assert done.returncode == 1
    assert message in done.stderr


def test_check_target_with_registry_port_path_and_tag_passes(home: dict[str, str]) -> None:
    done = run("check_target localhost:5001/team/a_b 0.1.0-rc.1", home)
    assert (done.returncode, done.stderr) == (0, "")


def test_write_values_names_every_image_as_the_chart_does(
    home: dict[str, str], tmp_path: Path
) -> None:
    references = (
        "registry.example.com/team/krt-operator:1 registry.example.com/team/krt-traffic:1 "
        "localhost:5001/krt-scoring:abc registry.example.com/team/krt-store:1 "
        "docker.io/apache/kafka:3.9.1 "
        "docker.io/apache/kafka:4.4.0"
    )
    done = run(f"write_values {tmp_path}/new/values.yaml {references}", home)
    assert done.returncode == 0, done.stderr
    values = yaml.safe_load((tmp_path / "new/values.yaml").read_text())
    registry = "registry.example.com"
    assert values["images"] == {
        "operator": {"registry": registry, "repository": "team/krt-operator", "tag": "1"},
        "traffic": {"registry": registry, "repository": "team/krt-traffic", "tag": "1"},
        "scoring": {"registry": "krt-registry:5000", "repository": "krt-scoring", "tag": "abc"},
        "store": {"registry": registry, "repository": "team/krt-store", "tag": "1"},
        "kafka": {"registry": "docker.io", "repository": "apache/kafka", "tag": "3.9.1"},
        "kafkaKRaft": {"registry": "docker.io", "repository": "apache/kafka", "tag": "4.4.0"},
    }
