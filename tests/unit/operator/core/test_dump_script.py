"""The script that dumps replicas, run for real with a double of Kafka's tool."""

from __future__ import annotations

import os
import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = files("krt_operator") / "templates" / "scripts" / "dump.sh"


@pytest.mark.parametrize(
    ("jar", "tool"),
    [
        ("kafka_2.13-3.9.1.jar", "kafka.tools.DumpLogSegments"),
        ("kafka_2.13-4.0.0.jar", "kafka.tools.DumpLogSegments"),
        ("kafka_2.13-4.2.1.jar", "kafka.tools.DumpLogSegments"),
        ("kafka_2.13-4.3.0.jar", "org.apache.kafka.tools.DumpLogSegments"),
        ("kafka_2.13-4.10.0.jar", "org.apache.kafka.tools.DumpLogSegments"),
        ("kafka_2.13-5.0.0-ccs.jar", "org.apache.kafka.tools.DumpLogSegments"),
        ("kafka_2.13.jar", "kafka.tools.DumpLogSegments"),
    ],
)
def test_dump_script_uses_the_tool_of_the_images_version(
    tmp_path: Path, jar: str, tool: str
) -> None:
    libs, replica, pipe = tmp_path / "libs", tmp_path / "data" / "foo-0", tmp_path / "pipe"
    for folder in (libs, replica, tmp_path / "bin"):
        folder.mkdir(parents=True)
    (libs / jar).touch()
    (replica / "00000000000000000000.log").touch()
    java = tmp_path / "bin" / "java"
    java.write_text('#!/usr/bin/env bash\nprintf "called %s\\n" "$*"\n')
    java.chmod(0o755)
    script = tmp_path / "dump.sh"
    text = SCRIPT.read_text().replace("/opt/kafka/libs", str(libs))
    script.write_text(text.replace("errors=/tmp/errors", f"errors={tmp_path}/errors"))
    os.mkfifo(pipe)
    process = subprocess.Popen(
        ["bash", str(script), str(tmp_path / "data"), str(pipe), "foo"],
        env={**os.environ, "PATH": f"{java.parent}{os.pathsep}{os.environ['PATH']}"},
    )
    try:
        lines = pipe.read_text().splitlines()
        assert process.wait(10) == 0
    finally:
        process.kill()
    (called,) = (line.split() for line in lines if line.startswith("called "))
    assert tool in called
    assert lines[-1] == "krt done"
