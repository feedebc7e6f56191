"""The ephemeral container that signals a process: how it is built, and what it reported.

An ephemeral container is the only way to reach a process of a running pod without the right to
exec into every pod. Its name is derived from the intent in the journal, so adding it again is
seen to be done already; its termination message is the report.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.times import from_micros

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.ports import Json

RUN_DIRECTORY: Final = "/run/krt"
"""Where member wrapper and signal share the hold file: an emptyDir of the member's pod."""

PROCESSES: Final = {"kafka": "java", "zookeeper": "java", "traffic": "python"}
"""Target container to how the command of the process under test begins."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a signalling container did.

    Attributes:
        done: the signal was sent to the process.
        at: when it was sent, by the clock of the pod's node; None where it was not.
        message: what went wrong, as the script said it.
    """

    done: bool
    at: datetime | None = None
    message: str = ""


@cache
def script() -> str:
    """The text of `signal.sh`."""
    return files("krt_operator.faults").joinpath("signal.sh").read_text(encoding="utf-8")


def target_container(pod: Json) -> Json | None:
    """The container of a pod that runs the process under test, None where it has none."""
    return next((one for one in pod["spec"]["containers"] if one["name"] in PROCESSES), None)


def container(pod: Json, name: str, signal: str, *, mode: str = "") -> Json:
    """Build the ephemeral container that signals the process under test of a pod.

    Args:
        pod: the pod as the API server gave it.
        name: name of the ephemeral container, derived from the intent.
        signal: KILL, STOP or CONT.
        mode: `hold`, `release` or nothing, see `signal.sh`; only for members, whose wrapper
            watches the hold file.

    Raises:
        ValueError: the pod has no process under test.
    """
    target = target_container(pod)
    if target is None:
        raise ValueError(f"pod {pod['metadata']['name']} runs no process under test")
    mounts = [
        {"name": mount["name"], "mountPath": RUN_DIRECTORY}
        for mount in target.get("volumeMounts", [])
        if mount["mountPath"] == RUN_DIRECTORY
    ]
    arguments = [signal, PROCESSES[target["name"]], *([mode] if mode and mounts else [])]
    built: Json = {
        "name": name,
        "image": target["image"],
        "imagePullPolicy": "IfNotPresent",
        "targetContainerName": target["name"],
        "command": ["bash", "-c", script(), "signal.sh", *arguments],
        "env": [{"name": "KRT_MEMBER", "value": _member(pod)}],
        "securityContext": target.get("securityContext", {}),
    }
    if mounts:
        built["volumeMounts"] = mounts
    return built


def report(pod: Json, name: str) -> Report | None:
    """Read what an ephemeral container reported; None while it has not ended (or begun)."""
    for status in pod.get("status", {}).get("ephemeralContainerStatuses") or []:
        ended = status.get("state", {}).get("terminated")
        if status["name"] == name and ended is not None:
            return _parse(ended)
    return None


def _parse(ended: Json) -> Report:
    text = str(ended.get("message") or "")
    try:
        said = json.loads(text)
        at = from_micros(said["at"])
    except (ValueError, TypeError, KeyError):
        why = text.strip() or f"ended with exit code {ended.get('exitCode')} and said nothing"
        return Report(done=False, message=why)
    return Report(done=True, at=at)


def _member(pod: Json) -> str:
    return str(pod["metadata"].get("labels", {}).get(names.LABEL_MEMBER, ""))
