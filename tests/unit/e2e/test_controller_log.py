"""The log of each controller of a session is followed, and lines that none should log are found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from kit.controller_log import ControllerLog
from kit.kubectl import Kubectl
from kit.wait import wait_until

if TYPE_CHECKING:
    from pathlib import Path

KUBECTL = f"""#!{sys.executable}
import pathlib, sys, time
here = pathlib.Path(__file__).parent
if "get" in sys.argv:
    shown = 0
    while True:
        text = (here / "pods").read_text()
        print(text[shown:], end="", flush=True)
        shown = len(text)
        time.sleep(0.01)
pod = sys.argv[sys.argv.index("logs") + 1]
print((here / pod).read_text(), end="", flush=True)
(here / "asked").open("a").write(pod + "\\n")
"""
"""Prints what is added to the file ``pods``, and a pod's log once."""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a kubectl whose cluster has one pod that waits for its container."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "kubectl").write_text(KUBECTL)
    (folder / "kubectl").chmod(0o755)
    (folder / "pods").write_text("krt-1 <none>\n")
    (folder / "asked").touch()
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder


def follow(cluster: Path, *containers: str) -> ControllerLog:
    """Return the log after these containers, ``POD ID``, were seen one after the other."""
    files = cluster.parent / "logs"
    files.mkdir()
    with ControllerLog(Kubectl("krt-system"), files) as log:
        for number, container in enumerate(containers):
            with (cluster / "pods").open("a") as pods:
                pods.write(f"{container}\n" * 2)  # a pod changes without a new container, too
            wait_for_lines(cluster / "asked", number + 1)
    return log


def wait_for_lines(file: Path, count: int) -> None:
    wait_until(lambda: len(file.read_text().splitlines()) >= count, 30, f"{count} logs asked for")


def test_a_session_without_errors(cluster: Path) -> None:
    (cluster / "krt-1").write_text("INFO started\nWARNING a pod was refused\n")
    log = follow(cluster, "krt-1 containerd://a")
    assert (log.containers, log.wrong_lines()) == (1, [])


def test_each_container_of_each_pod_is_followed(cluster: Path) -> None:
    (cluster / "krt-1").write_text("INFO started\nERROR [krt] unforeseen\n")
    (cluster / "krt-2").write_text("Traceback (most recent call last):\n")
    log = follow(cluster, "krt-1 containerd://a", "krt-1 containerd://b", "krt-2 containerd://c")
    assert log.containers == 3
    assert log.wrong_lines() == [
        "0-krt-1.log: ERROR [krt] unforeseen",
        "1-krt-1.log: ERROR [krt] unforeseen",
        "2-krt-2.log: Traceback (most recent call last):",
    ]


def test_a_session_in_which_no_controller_ran_is_known(cluster: Path) -> None:
    assert follow(cluster).containers == 0
