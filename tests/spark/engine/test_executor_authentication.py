"""Executors without the driver's secret are refused, and Spark asks for nothing but pods."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SESSION = Path(__file__).with_name("executor_session.py")


def run(secret: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, SESSION, secret],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_executor_with_the_secret_of_its_driver_registers_and_works() -> None:
    found = run("KEEP")
    assert found["secret"], "Spark passed no secret to its executor"
    assert (found["registered"], found["rows"]) == (True, 1000)
    assert found["copied"] == "rows", "the driver's file is not below the executor's directory"
    # The driver's role: rbac/tests.yaml.
    assert found["calls"] == [["DELETE", "pods"], ["GET", "pods"], ["POST", "pods"]]


def test_executor_without_the_secret_is_refused() -> None:
    found = run("DROP")
    assert found["registered"] is False
    assert found["ended"] not in {None, 0}
