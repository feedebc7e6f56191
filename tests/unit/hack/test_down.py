"""hack/down, with a docker that has no engine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

REPO = Path(__file__).parents[3]


def test_down_deletes_what_was_made_for_the_cluster_and_nothing_else(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("docker", "kind"):
        (tools / name).write_text("#!/bin/sh\nexit 1\n")
        (tools / name).chmod(0o755)
    state = tmp_path / "state" / "photos"
    (state / "album").mkdir(parents=True)
    (state / "evidence").mkdir()
    (state / "logs").mkdir()
    (state / "logs" / "up.log").write_text("made by hack/up")
    for name in ("kubeconfig", "images.values.yaml", "a.jpg"):
        (state / name).write_text(name)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "KRT_CACHE": str(tmp_path / "cache"),
        "KRT_STATE": str(tmp_path / "state"),
        "KRT_CLUSTER": "photos",
    }
    done = subprocess.run(
        [str(REPO / "hack/down")], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in state.iterdir()} == {"album", "evidence", "a.jpg"}
