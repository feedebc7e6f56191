"""What the scoring image leaves out of Spark is not missed by what a scoring may come to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

UNUSED = Path(__file__).parents[3] / "hack/images/spark/unused-jars"

SCRIPT = """
from pyspark import StorageLevel
from krt_scoring.engine import session

spark = session.local(rows=1_000, cores=1)
print(spark.sparkContext.parallelize(range(1_000)).persist(StorageLevel.DISK_ONLY).count())
"""
"""Rows of bytes, as broadcasts are: these Spark writes to disk by Kryo, whatever its serializer."""


def test_blocks_of_bytes_are_written_to_disk_without_the_unused_jars(tmp_path: Path) -> None:
    spark = Path(str(pyspark.__file__)).parent
    jars = tmp_path / "jars"
    jars.mkdir()
    lines = UNUSED.read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    for jar in (spark / "jars").iterdir():
        if not any(jar.match(pattern) for pattern in patterns):
            (jars / jar.name).symlink_to(jar)
    for path in spark.iterdir():
        if path.name != jars.name:
            (tmp_path / path.name).symlink_to(path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "SPARK_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[-1] == "1000"
