"""Collects what a failed test leaves, for whoever reads the output of CI."""

from __future__ import annotations

import os
from pathlib import Path

from kit.kubectl import Kubectl, KubectlError

COMMANDS = {
    "krt.yaml": ("get", "krt", "-o", "yaml"),
    "describe.txt": ("describe", "krt,pods,statefulsets,jobs,pvc"),
    "events.txt": ("get", "events", "--sort-by=.lastTimestamp"),
    "wide.txt": ("get", "all,pvc,configmaps", "-o", "wide"),
}
"""File → the kubectl command whose output it holds."""


def collect(test: str, namespace: str, operator_namespace: str) -> Path:
    """Collect describe, events and every pod's log of ``namespace``, and the controller's log.

    Returns:
        the folder they were written to.
    """
    folder = Path(os.environ.get("KRT_E2E_ARTIFACTS", "/tmp/krt-e2e")) / test  # noqa: S108 - a default for a person at a shell
    folder.mkdir(parents=True, exist_ok=True)
    kubectl = Kubectl(namespace)
    for name, command in COMMANDS.items():
        _write(folder / name, kubectl, *command)
    for pod in kubectl.items("pods"):
        name = pod["metadata"]["name"]
        _write(folder / f"{name}.log", kubectl, "logs", name, "--all-containers", "--timestamps")
    system = Kubectl(operator_namespace)
    _write(folder / "controller.log", system, "logs", "-l", OPERATOR_SELECTOR, "--tail=5000")
    return folder


OPERATOR_SELECTOR = "app.kubernetes.io/component=operator"
"""The controller's pod in its own namespace."""


def _write(path: Path, kubectl: Kubectl, *command: str) -> None:
    try:
        path.write_text(kubectl(*command), encoding="utf-8")
    except KubectlError as error:
        path.write_text(f"{error}\n", encoding="utf-8")
