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

from krt_contract.labels import LABEL_MEMBER
from krt_operator.api.status import Observation
from krt_operator.api.times import from_micros
from krt_operator.errors import GoneError
from krt_operator.faults.action import Outcome, standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from krt_operator.api.status import FaultStatus, ObservationKind, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.views import Json

RUN_DIRECTORY: Final = "/run/krt"
"""Where member wrapper and signal share the hold file: an emptyDir of the member's pod."""

PROCESSES: Final = {"kafka": "java", "zookeeper": "java", "traffic": "python"}
"""Target container to how the command of the process under test begins."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What an ephemeral container is to do.

    Attributes:
        container: its name, derived from the intent.
        signal: KILL, STOP or CONT.
        extra: `hold` or `release` for KILL, seconds for CONT, see `signal.sh`.
    """

    container: str
    signal: str
    extra: tuple[str, ...] = ()


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


def container(pod: Json, what: Signal) -> Json:
    """Build the ephemeral container that signals the process under test of a pod.

    Args:
        pod: the pod as the API server gave it.
        what: its name and what it does. `hold` and `release` are for members alone, whose wrapper
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
    extra = what.extra if mounts or what.signal != "KILL" else ()
    built: Json = {
        "name": what.container,
        "image": target["image"],
        "imagePullPolicy": "IfNotPresent",
        "targetContainerName": target["name"],
        "command": [
            *("bash", "-c", script(), "signal.sh"),
            *(what.signal, PROCESSES[target["name"]], *extra),
        ],
        "env": [{"name": "KRT_MEMBER", "value": _member(pod)}],
        "securityContext": target.get("securityContext", {}),
    }
    if mounts:
        built["volumeMounts"] = mounts
    return built


def start(ports: Ports, pods: Mapping[str, Json], target: TargetPod, what: Signal) -> None:
    """Add the container to a target; one that is gone is left to the outcome to tell."""
    pod = standing(pods, target)
    if pod is None:
        return
    try:
        ports.cluster.add_ephemeral_container(target.pod, target.uid, container(pod, what))
    except GoneError:
        # Without a report there is no proof: the next look at the pods says it.
        return


def outcome(
    entry: FaultStatus,
    pods: Mapping[str, Json],
    named: Callable[[str, int], str],
    kind: ObservationKind,
    detail: str,
) -> Outcome:
    """Read what the containers of all attempts so far report from the pods.

    Args:
        entry: the fault's journal.
        pods: the run's pods by name.
        named: fault and attempt to the container's name.
        kind: what a report proves.
        detail: what exactly.
    """
    pending, observations, lost = [], [], []
    failures: dict[str, str] = {}
    asked = True
    for target in entry.targets:
        pod = standing(pods, target)
        if pod is None:
            lost.append(target.pod)
            continue
        asked &= _has(pod, named(entry.name, entry.attempt))
        reports = [
            report(pod, named(entry.name, attempt)) for attempt in range(1, entry.attempt + 1)
        ]
        done = next((one for one in reports if one is not None and one.at is not None), None)
        if done is not None and done.at is not None:
            observations.append(
                Observation(kind=kind, subject=target.pod, at=done.at, detail=detail)
            )
        elif reports and reports[-1] is not None:
            failures[target.pod] = reports[-1].message
        else:
            pending.append(target.pod)
    return Outcome(asked, tuple(pending), tuple(observations), failures, tuple(lost))


def report(pod: Json, name: str) -> Report | None:
    """Read what an ephemeral container reported; None while it has not ended (or begun)."""
    for status in pod.get("status", {}).get("ephemeralContainerStatuses") or []:
        ended = status.get("state", {}).get("terminated")
        if status["name"] == name and ended is not None:
            return parse(ended)
    return None


def parse(ended: Json) -> Report:
    """Read what a terminated container said: JSON with the time, or why not."""
    text = str(ended.get("message") or "")
    try:
        said = json.loads(text)
        at = from_micros(said["at"])
    except (ValueError, TypeError, KeyError):
        why = text.strip() or f"ended with exit code {ended.get('exitCode')} and said nothing"
        return Report(done=False, message=why)
    return Report(done=True, at=at)


def _has(pod: Json, name: str) -> bool:
    return any(one["name"] == name for one in pod["spec"].get("ephemeralContainers") or [])


def _member(pod: Json) -> str:
    return str(pod["metadata"].get("labels", {}).get(LABEL_MEMBER, ""))
