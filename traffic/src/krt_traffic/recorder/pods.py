"""What becomes of the run's pods, as the API server reports it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from krt_contract.timeline import EventName, Source
from krt_traffic.recorder.timeline import micros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krt_traffic.kubernetes.objects import Pod, Terminated
    from krt_traffic.recorder.timeline import Timeline

MESSAGE_LIMIT = 4096
"""Characters that Kubernetes keeps of a termination message."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container that has started, whose log may be followed.

    Attributes:
        pod: name of its pod.
        uid: uid of its pod.
        name: its name.
        component: the role of the pod in its run.
        ephemeral: whether it was added to a running pod.
    """

    pod: str
    uid: str
    name: str
    component: str
    ephemeral: bool


class PodEvent(NamedTuple):
    """An event that a pod object shows.

    Attributes:
        key: identifies the event within its pod.
        name: the timeline event.
        time: Kubernetes' own time of it (RFC 3339); None where it gives none.
        detail: what this event says beyond the pod's identity.
    """

    key: tuple[str, ...]
    name: EventName
    time: str | None
    detail: dict[str, Any]


@dataclass(slots=True)
class _Known:
    """A pod that exists: its newest object, and what the timeline has of it."""

    pod: Pod
    recorded: set[tuple[str, ...]] = field(default_factory=set)
    ready: bool = False


class PodEvents:
    """Turns pod objects into timeline events, each written once.

    Kubernetes writes its times in whole seconds. An event seen live is therefore stamped with the
    time it was seen, and Kubernetes' own time is in ``detail.objectAt``.

    Args:
        timeline: where events go.
        zones: member → zone, from the plan.
        started: called with each container that runs or ran.
        image: called with component and image id.
    """

    def __init__(
        self,
        timeline: Timeline,
        zones: dict[str, str],
        started: Callable[[Container], None],
        image: Callable[[str, str], None],
    ) -> None:
        self._timeline, self._zones = timeline, zones
        self._started, self._image = started, image
        self._known: dict[str, _Known] = {}

    def gone(self, uid: str) -> bool:
        """Return whether the pod is known to be gone."""
        return uid not in self._known

    def listed(self, items: list[Pod]) -> None:
        """Take all pods: those not among them were deleted while the watch was interrupted."""
        present = {item.metadata.uid for item in items}
        for uid in [uid for uid in self._known if uid not in present]:
            self._deleted(self._known[uid].pod)
        for item in items:
            self._observe(item, live=False)

    def changed(self, kind: str, item: Pod) -> None:
        """Take one change."""
        self._observe(item, live=True)
        if kind == "DELETED":
            self._deleted(item)

    def _observe(self, pod: Pod, *, live: bool) -> None:
        known = self._known.setdefault(pod.metadata.uid, _Known(pod))
        known.pod = pod
        for event in pod_events(pod):
            if event.key not in known.recorded:
                self._write(event, pod, live=live)
                known.recorded.add(event.key)
        condition = pod.condition("Ready")
        ready = condition is not None
        if known.ready is not ready:
            name = EventName.READY if ready else EventName.NOT_READY
            time = condition.last_transition_time if condition else None
            self._write(PodEvent((), name, time, {}), pod, live=live)
            known.ready = ready
        self._containers(pod)

    def _deleted(self, pod: Pod) -> None:
        self._write(PodEvent((), EventName.DELETED, None, {}), pod, live=True)
        self._known.pop(pod.metadata.uid, None)

    def _containers(self, pod: Pod) -> None:
        ephemeral = {item.name for item in pod.status.ephemeral_container_statuses}
        for container in pod.containers:
            if not container.container_id:
                continue
            if container.name not in ephemeral:
                self._image(pod.component, container.image_id)
            self._started(
                Container(
                    pod.metadata.name,
                    pod.metadata.uid,
                    container.name,
                    pod.component,
                    ephemeral=container.name in ephemeral,
                )
            )

    def _write(self, event: PodEvent, pod: Pod, *, live: bool) -> None:
        detail = {
            "uid": pod.metadata.uid,
            "member": pod.member,
            "component": pod.component,
            "node": pod.spec.node_name,
            **event.detail,
        }
        if pod.member in self._zones:
            detail["zone"] = self._zones[pod.member]
        at = micros(event.time) if event.time else None
        if at is not None:
            detail["objectAt"] = at
        self._timeline.write(
            Source.POD, event.name, pod.metadata.name, detail, at=None if live else at
        )


def pod_events(pod: Pod) -> Iterator[PodEvent]:
    """Yield the events that a pod object shows, but readiness, which may come and go."""
    yield PodEvent((EventName.ADDED,), EventName.ADDED, pod.metadata.creation_timestamp, {})
    if condition := pod.condition("PodScheduled"):
        yield PodEvent(
            (EventName.SCHEDULED,), EventName.SCHEDULED, condition.last_transition_time, {}
        )
    for container in pod.containers:
        for state in (container.last_state, container.state):
            if (running := state.running) is not None:
                key = (EventName.RUNNING, container.name, str(running.started_at))
                yield PodEvent(
                    key, EventName.RUNNING, running.started_at, {"container": container.name}
                )
            if (ended := state.terminated) is not None:
                key = (EventName.EXITED, container.name, str(ended.container_id))
                yield PodEvent(
                    key, EventName.EXITED, ended.finished_at, _exit(container.name, ended)
                )
    if pod.metadata.deletion_timestamp:
        detail = {"gracePeriodSeconds": pod.metadata.deletion_grace_period_seconds}
        yield PodEvent((EventName.TERMINATING,), EventName.TERMINATING, None, detail)


def _exit(container: str, ended: Terminated) -> dict[str, Any]:
    detail: dict[str, Any] = {"container": container, "exitCode": ended.exit_code}
    if ended.signal:
        detail["signal"] = ended.signal
    if ended.reason:
        detail["reason"] = ended.reason
    if ended.message:
        detail["message"] = ended.message[:MESSAGE_LIMIT]
    return detail
