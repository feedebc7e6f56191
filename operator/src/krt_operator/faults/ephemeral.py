"""Ephemeral containers that signal a process: how they are built, and which targets they hit.

An ephemeral container is the only way to reach a process of a running pod without the right to
exec into every pod. Its name is derived from the intent in the journal, so adding it again changes
nothing; its termination message is the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_operator.api.status import Observation
from krt_operator.api.times import to_micros
from krt_operator.build.render import script
from krt_operator.errors import GoneError
from krt_operator.faults.action import OUTCOME_TIMEOUT, Outcome
from krt_operator.faults.broker_pods import KAFKA, find_kafka_container
from krt_operator.faults.reports import read_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from krt_operator.api.spec import Spec
    from krt_operator.api.status import FaultStatus, ObservationKind, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json

RUN_DIRECTORY: Final = "/run/krt"
"""Where `member.sh` and `signal.sh` share the hold file: an emptyDir of the member's pod."""

PROCESSES: Final = {
    KAFKA: "java",
    "zookeeper": "java",
    "controller": "java",
    "traffic": "python",
}
"""Container name to how the command of its process under test begins."""

BROKER_CLASS: Final = "kafka.Kafka"
"""An argument of java that starts a broker, in whatever container and below whatever init."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What an ephemeral container does.

    Attributes:
        container: its name, derived from the intent.
        signal: KILL, STOP or CONT.
        arguments: `hold` or `release` for KILL, seconds for CONT; see `signal.sh`.
        not_after: when KILL and STOP come too late; None: never.
    """

    container: str
    signal: str
    arguments: tuple[str, ...] = ()
    not_after: datetime | None = None


def container_name(verb: str, entry: FaultStatus, attempt: int | str) -> str:
    """The container that does this in an attempt; the same for every controller that repeats it.

    A pod of the test is made for one run. A broker of somebody else stays, and so do its ephemeral
    containers with what they reported, so the time of the intent tells the runs apart.

    Args:
        verb: what it does.
        entry: the journal of the fault.
        attempt: number of the attempt, or what is in its place.
    """
    name = f"krt-{verb}-{entry.name}-{attempt}"
    if not entry.referenced_brokers or entry.scheduled_at is None:
        return name
    return f"{name}-{to_micros(entry.scheduled_at):x}"


@dataclass(frozen=True, slots=True)
class Process:
    """The process under test of a pod, as `signal.sh` finds it.

    Attributes:
        container: that runs it, as the pod has it.
        member: its member, such as kafka-0.
        command: how its command begins.
        argument: what one of its arguments is; empty: any.
    """

    container: Json
    member: str
    command: str
    argument: str = ""


def find_process(pod: Json, target: TargetPod, spec: Spec) -> Process:
    """The process under test of a target.

    Args:
        pod: the pod as the API server returned it.
        target: the target that the pod is.
        spec: says which container runs a broker of `spec.kafkaRef`.

    Raises:
        ValueError: the pod has no process under test. A broker's pod was checked for it when it
            was chosen, and the containers of a pod do not change.
    """
    if target.namespace:
        name = None if spec.broker_pods is None else spec.broker_pods.container
        container = find_kafka_container(pod, name)
        command, argument = "java", BROKER_CLASS
    else:
        containers = pod["spec"]["containers"]
        container = next((each for each in containers if each["name"] in PROCESSES), None)
        command, argument = PROCESSES[container["name"]] if container else "", ""
    if container is None:
        raise ValueError(f"pod {pod['metadata']['name']} runs no process under test")
    return Process(container, target.member, command, argument)


def build_container(process: Process, signal: Signal) -> Json:
    """Build the ephemeral container that signals a process.

    It has the image, the user and the rights of the container that runs the process: the image is
    on the node, its user may signal the process, and where that container is admitted, so is this.

    Args:
        process: whom it signals.
        signal: its name and what it does. `hold` and `release` reach members of the test only:
            their wrapper watches the hold file, and nothing else does.
    """
    target = process.container
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
            *(signal.signal, process.command, *arguments),
        ],
        "env": [{"name": "KRT_MEMBER", "value": process.member}],
        "securityContext": target.get("securityContext", {}),
    }
    if signal.not_after is not None:
        limit = str(to_micros(signal.not_after))
        container["env"].append({"name": "KRT_NOT_AFTER", "value": limit})
    if process.argument:
        container["env"].append({"name": "KRT_ARGUMENT", "value": process.argument})
    if "imagePullPolicy" in target:
        # It runs from the same image, which may be pulled on the same terms only.
        container["imagePullPolicy"] = target["imagePullPolicy"]
    if mounts:
        container["volumeMounts"] = mounts
    return container


def not_after(entry: FaultStatus, now: datetime) -> datetime:
    """When a signal of this fault comes too late: `read_outcome` is waited for no longer.

    Args:
        entry: the journal of the fault.
        now: the time of this pass.
    """
    return (entry.scheduled_at or now) + OUTCOME_TIMEOUT


def left_targets(
    entry: FaultStatus, observed: Observed, name_of: Callable[[FaultStatus, int], str]
) -> list[TargetPod]:
    """The targets that no earlier attempt has hit: what was hit once is not hit again.

    Args:
        entry: the journal of the fault.
        observed: the pods.
        name_of: the fault's entry and an attempt to the container's name.
    """

    def is_hit(target: TargetPod) -> bool:
        pod = observed.target_pod(target)
        if pod is None:
            return False
        reports = (read_report(pod, name_of(entry, number)) for number in range(1, entry.attempt))
        return any(report is not None and report.done for report in reports)

    return [target for target in entry.targets if not is_hit(target)]


def start_container(
    ports: Ports, spec: Spec, observed: Observed, target: TargetPod, signal: Signal
) -> None:
    """Add the ephemeral container to a target; where the pod is gone, nothing is done."""
    pod = observed.target_pod(target)
    if pod is None:
        return
    container = build_container(find_process(pod, target, spec), signal)
    try:
        ports.pods_of(spec, target).add_ephemeral_container(target.pod, target.uid, container)
    except GoneError:
        # `read_outcome` reports the pod as lost in the next pass.
        return


def read_outcome(
    entry: FaultStatus,
    observed: Observed,
    name_of: Callable[[FaultStatus, int], str],
    kind: ObservationKind,
    detail: str,
) -> Outcome:
    """Read from the pods what the containers of all attempts reported.

    Args:
        entry: the fault's entry in the journal.
        observed: the pods.
        name_of: the fault's entry and an attempt to the container's name.
        kind: what a report is an observation of.
        detail: the observation's detail.
    """
    pending, observations, lost = [], [], []
    failures: dict[str, str] = {}
    requested, final = True, False
    for target in entry.targets:
        pod = observed.target_pod(target)
        if pod is None:
            lost.append(target.pod)
            continue
        attempts = range(1, entry.attempt + 1)
        reports = [read_report(pod, name_of(entry, attempt)) for attempt in attempts]
        at = next((report.at for report in reports if report is not None and report.at), None)
        if at is not None:
            observations.append(Observation(kind=kind, subject=target.pod, at=at, detail=detail))
            continue
        requested &= _has_container(pod, name_of(entry, entry.attempt))
        if reports and reports[-1] is not None:
            failures[target.pod] = reports[-1].error
            final |= reports[-1].final
        else:
            pending.append(target.pod)
    return Outcome(
        requested, tuple(pending), tuple(observations), failures, tuple(lost), final=final
    )


def _has_container(pod: Json, name: str) -> bool:
    containers = pod["spec"].get("ephemeralContainers") or []
    return any(container["name"] == name for container in containers)
