"""Spark without enough memory ends with a message that names the remedy. Real JVMs."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from krt_scoring.engine import session, spark_errors
from krt_scoring.errors import SparkFailedError

try:
    with spark_errors.translate_errors("raise the setting"):
        spark = session.local(rows=1_000, memory=sys.argv[1], cores=1)
        spark.sparkContext.setLogLevel("OFF")
        spark.sql(sys.argv[2]).collect()
except SparkFailedError as error:
    print(error)
"""
HARMLESS = "SELECT 1"
MORE_THAN_THE_HEAP = "SELECT sort_array(array_repeat(id, 200000000)) FROM range(1)"


@pytest.mark.parametrize(
    ("memory", "query"),
    [
        pytest.param("128m", HARMLESS, id="a heap that Spark refuses"),
        pytest.param("480m", MORE_THAN_THE_HEAP, id="a heap that the work does not fit in"),
    ],
)
def test_translate_errors_where_memory_is_too_little_names_the_remedy(
    memory: str, query: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, memory, query],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("Spark"), done.stderr[-2000:]
    assert done.stdout.rstrip().endswith(": raise the setting")
    assert len(done.stdout.splitlines()) == 1
