"""What the controllers of a session logged, followed from one container to the next."""

from __future__ import annotations

import subprocess
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from kit.artifacts import OPERATOR_SELECTOR

if TYPE_CHECKING:
    from pathlib import Path

    from kit.kubectl import Kubectl

WRONG = ("ERROR", "CRITICAL", "Traceback")
"""A line with one of these is a defect of the controller: what goes wrong in a test is reported on
the resource, and at most warned of in the log."""

AGAIN_SECONDS = 1.0
"""Until pods are watched again: a watch ends after a while, and the API server may be down."""

CONTAINER = "NAME:.metadata.name,ID:.status.containerStatuses[0].containerID"
"""Columns of ``kubectl get pods``; a container that was started again has another id."""


class ControllerLog:
    """Follows the log of each container of the controller into a file of ``folder``.

    A pod that a test killed or replaced has taken its log along by the end of the session.
    """

    def __init__(self, kubectl: Kubectl, folder: Path) -> None:
        self._kubectl = kubectl
        self._folder = folder
        self._since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._followers: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = threading.Event()
        self._pods = self._watch()
        self._thread = threading.Thread(target=self._follow_all)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._pods.terminate()
        self._thread.join()
        for follower in self._followers.values():
            follower.terminate()
            follower.wait()

    @property
    def containers(self) -> int:
        """How many containers were followed."""
        return len(self._followers)

    def wrong_lines(self) -> list[str]:
        """Return the lines that no controller should log, each after the name of its file."""
        return [
            f"{file.name}: {line}"
            for file in sorted(self._folder.iterdir())
            for line in file.read_text(errors="replace").splitlines()
            if any(word in line for word in WRONG)
        ]

    def _follow_all(self) -> None:
        while True:
            assert self._pods.stdout is not None
            for line in self._pods.stdout:
                pod, container = line.split()
                if container not in {"<none>", *self._followers}:
                    self._followers[container] = self._follow(pod)
            self._pods.wait()
            if self._stopped.wait(AGAIN_SECONDS):
                return
            self._pods = self._watch()
            if self._stopped.is_set():
                self._pods.terminate()

    def _watch(self) -> subprocess.Popen[str]:
        command = ("get", "pods", "--watch", "--no-headers", "-l", OPERATOR_SELECTOR)
        return subprocess.Popen(
            [*self._prefix, *command, "-o", f"custom-columns={CONTAINER}"],
            stdout=subprocess.PIPE,
            text=True,
        )

    def _follow(self, pod: str) -> subprocess.Popen[bytes]:
        file = self._folder / f"{len(self._followers)}-{pod}.log"
        with file.open("wb") as out:
            return subprocess.Popen(
                [*self._prefix, "logs", pod, "--follow", f"--since-time={self._since}"],
                stdout=out,
                stderr=subprocess.DEVNULL,
            )

    @property
    def _prefix(self) -> tuple[str, ...]:
        return ("kubectl", "--namespace", self._kubectl.namespace)
