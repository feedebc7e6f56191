"""Ephemeral containers that signal a process: how they are built, and what they reported.

An ephemeral container is the only way to reach a process of a running pod without the right to
exec into every pod. Its name is derived from the intent in the journal, so adding it again changes
nothing; its termination message is the report.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.labels import LABEL_MEMBER
from krt_operator.api.status import Observation
from krt_operator.api.times import from_micros
from krt_operator.build.render import script
from krt_operator.errors import GoneError
from krt_operator.faults.action import Outcome, find_target_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from krt_operator.api.status import FaultStatus, ObservationKind, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.views import Json

RUN_DIRECTORY: Final = "/run/krt"
"""Where `member.sh` and `signal.sh` share the hold file: an emptyDir of the member's pod."""

PROCESSES: Final = {
    "kafka": "java",
    "zookeeper": "java",
    "controller": "java",
    "traffic": "python",
}
"""Container name to how the command of its process under test begins."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What an ephemeral container does.

    Attributes:
        container: its name, derived from the intent.
        signal: KILL, STOP or CONT.
        arguments: `hold` or `release` for KILL, seconds for CONT; see `signal.sh`.
    """

    container: str
    signal: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a container or a Job reported in its termination message.

    Attributes:
        done: whether it did what it was started for.
        at: when it did, by the clock of the pod's node; None where it did not.
        error: what it wrote instead.
    """

    done: bool
    at: datetime | None = None
    error: str = ""


def find_target_container(pod: Json) -> Json | None:
    """The container of a pod that runs the process under test; None where it has none."""
    containers = pod["spec"]["containers"]
    return next((container for container in containers if container["name"] in PROCESSES), None)


def build_container(pod: Json, signal: Signal) -> Json:
    """Build the ephemeral container that signals the process under test of a pod.

    Args:
        pod: the pod as the API server returned it.
        signal: its name and what it does. `hold` and `release` reach members only: their wrapper
            watches the hold file, and traffic has none.

    Raises:
        ValueError: the pod has no process under test.
    """
    target = find_target_container(pod)
    if target is None:
        raise ValueError(f"pod {pod['metadata']['name']} runs no process under test")
    mounts = [
        {"name": mount["name"], "mountPath": RUN_DIRECTORY}
        for mount in target.get("volumeMounts", [])
        if mount["mountPath"] == RUN_DIRECTORY
    ]
    arguments = signal.arguments if mounts or signal.signal != "KILL" else ()
    container: Json = {
        "name": signal.container,
        "image": target["image"],
        "targetContainerName": target["name"],
        "command": [
            *("bash", "-c", script("signal.sh"), "signal.sh"),
            *(signal.signal, PROCESSES[target["name"]], *arguments),
        ],
        "env": [{"name": "KRT_MEMBER", "value": _member_of(pod)}],
        "securityContext": target.get("securityContext", {}),
    }
    if "imagePullPolicy" in target:
        # It runs from the same image, which may be pulled on the same terms only.
        container["imagePullPolicy"] = target["imagePullPolicy"]
    if mounts:
        container["volumeMounts"] = mounts
    return container


def start_container(
    ports: Ports, pods: Mapping[str, Json], target: TargetPod, signal: Signal
) -> None:
    """Add the ephemeral container to a target; where the pod is gone, nothing is done."""
    pod = find_target_pod(pods, target)
    if pod is None:
        return
    try:
        ports.cluster.add_ephemeral_container(target.pod, target.uid, build_container(pod, signal))
    except GoneError:
        # `read_outcome` reports the pod as lost in the next pass.
        return


def read_outcome(
    entry: FaultStatus,
    pods: Mapping[str, Json],
    container_name: Callable[[str, int], str],
    kind: ObservationKind,
    detail: str,
) -> Outcome:
    """Read from the pods what the containers of all attempts reported.

    Args:
        entry: the fault's entry in the journal.
        pods: the run's pods by name.
        container_name: fault name and attempt to the container's name.
        kind: what a report is an observation of.
        detail: the observation's detail.
    """
    pending, observations, lost = [], [], []
    failures: dict[str, str] = {}
    requested = True
    for target in entry.targets:
        pod = find_target_pod(pods, target)
        if pod is None:
            lost.append(target.pod)
            continue
        requested &= _has_container(pod, container_name(entry.name, entry.attempt))
        attempts = range(1, entry.attempt + 1)
        reports = [read_report(pod, container_name(entry.name, attempt)) for attempt in attempts]
        at = next((report.at for report in reports if report is not None and report.at), None)
        if at is not None:
            observations.append(Observation(kind=kind, subject=target.pod, at=at, detail=detail))
        elif reports and reports[-1] is not None:
            failures[target.pod] = reports[-1].error
        else:
            pending.append(target.pod)
    return Outcome(requested, tuple(pending), tuple(observations), failures, tuple(lost))


def read_report(pod: Json, container: str) -> Report | None:
    """Read what an ephemeral container reported; None while it has not ended."""
    for status in pod.get("status", {}).get("ephemeralContainerStatuses") or []:
        terminated = status.get("state", {}).get("terminated")
        if status["name"] == container and terminated is not None:
            return parse_report(terminated)
    return None


def parse_report(terminated: Json) -> Report:
    """Parse a terminated container's message: JSON with the time, or an error as text."""
    text = str(terminated.get("message") or "")
    try:
        at = from_micros(json.loads(text)["at"])
    except (ValueError, TypeError, KeyError):
        exit_code = terminated.get("exitCode")
        error = text.strip() or f"ended with exit code {exit_code} and no message"
        return Report(done=False, error=error)
    return Report(done=True, at=at)


def _has_container(pod: Json, name: str) -> bool:
    containers = pod["spec"].get("ephemeralContainers") or []
    return any(container["name"] == name for container in containers)


def _member_of(pod: Json) -> str:
    return str(pod["metadata"].get("labels", {}).get(LABEL_MEMBER, ""))
