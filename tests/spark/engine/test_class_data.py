"""A scoring that reads its classes from an archive gives the bytes of one that does not."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

from krt_scoring.engine import class_data

SAMPLE = Path(__file__).parents[3] / "cli/src/krt_cli/sample/leader-crash.tar.gz"

FROM_ARCHIVE = "org.apache.spark.SparkContext source: shared objects file (top)"
"""How HotSpot logs a class that it took from a dynamic archive."""


def score(root: Path, out: Path, variables: dict[str, str]) -> bytes:
    subprocess.run(
        [sys.executable, "-m", "krt_scoring.cli", str(root), "--out", str(out), "--cores", "2"],
        check=True,
        env=os.environ | variables,
        capture_output=True,
    )
    return out.read_bytes()


def test_scoring_with_the_archive_gives_the_same_bytes(tmp_path: Path) -> None:
    with tarfile.open(SAMPLE) as packed:
        packed.extractall(tmp_path, filter="data")
    root = tmp_path / "leader-crash"
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = class_data.find(os.environ | cache)
    assert found is not None
    found.start()
    writing = score(root, tmp_path / "second.json", cache)
    assert found.archive.exists()
    loaded = tmp_path / "loaded.log"
    logged = {"JAVA_TOOL_OPTIONS": f"-Xlog:class+load:file={loaded}"}
    reading = score(root, tmp_path / "third.json", cache | logged)
    assert reading == writing
    assert FROM_ARCHIVE in loaded.read_text(encoding="utf-8")
