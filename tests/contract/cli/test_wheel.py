"""What is installed with the command: the wheel, built as ``uv tool install ./cli`` builds it."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
SAMPLE = "krt_cli/sample/leader-crash.tar.gz"


def test_wheel_holds_the_recorded_evidence(tmp_path: Path) -> None:
    command = ["hack/uv", "build", "--wheel", "--quiet", "--out-dir", str(tmp_path), "cli"]
    subprocess.run(command, cwd=ROOT, check=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive, archive.open(SAMPLE) as packed:
        with tarfile.open(fileobj=packed) as evidence:
            assert "leader-crash/run.json" in evidence.getnames()
        assert {"krt_cli/main.py", "krt_cli/diff/templates/diff.html.j2"} <= set(archive.namelist())
