"""What becomes of the run's pods, as the API tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.labels import LABEL_COMPONENT, LABEL_MEMBER
from krt_contract.timeline import EventName, Source
from krt_traffic.recorder.timeline import micros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krt_traffic.recorder.timeline import Timeline

MESSAGE_LIMIT = 4096
"""What Kubernetes keeps of a termination message."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container that has started, to follow the log of."""

    pod: str
    uid: str
    name: str
    component: str
    ephemeral: bool


@dataclass(slots=True)
class _Known:
    pod: dict[str, Any]
    said: set[tuple[str, ...]] = field(default_factory=set)


class PodEvents:
    """Turns pod objects into timeline events, each said once.

    Kubernetes writes its times in whole seconds. An event seen live is therefore stamped with the
    time it was seen, and Kubernetes' own stands in ``detail.objectAt``.

    Args:
        timeline: where events go.
        zones: member → zone, from the plan.
        started: hears of each container that runs or ran.
        image: hears component and image id.
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
        self._ready: dict[str, bool] = {}

    def gone(self, uid: str) -> bool:
        """Return whether the pod is known to be gone."""
        return uid not in self._known

    def listed(self, items: list[dict[str, Any]]) -> None:
        """Take the whole state: pods not in it were deleted while nobody watched."""
        present = {item["metadata"]["uid"] for item in items}
        for uid in [uid for uid in self._known if uid not in present]:
            self._deleted(self._known[uid].pod)
        for item in items:
            self._seen(item, live=False)

    def changed(self, kind: str, item: dict[str, Any]) -> None:
        """Take one change."""
        self._seen(item, live=True)
        if kind == "DELETED":
            self._deleted(item)

    def _seen(self, pod: dict[str, Any], *, live: bool) -> None:
        known = self._known.setdefault(pod["metadata"]["uid"], _Known(pod))
        known.pod = pod
        for key, event, own_time, extra in self._events(pod):
            if key in known.said:
                continue
            known.said.add(key)
            self._say(event, pod, extra, own_time, live=live)
        self._readiness(pod, live=live)
        self._containers(pod)

    def _deleted(self, pod: dict[str, Any]) -> None:
        self._known.pop(pod["metadata"]["uid"], None)
        self._ready.pop(pod["metadata"]["uid"], None)
        self._say(EventName.DELETED, pod, {}, None, live=True)

    def _events(
        self, pod: dict[str, Any]
    ) -> Iterator[tuple[tuple[str, ...], str, str | None, dict[str, Any]]]:
        metadata, status = pod["metadata"], pod.get("status") or {}
        yield (EventName.ADDED,), EventName.ADDED, metadata.get("creationTimestamp"), {}
        if condition := _condition(pod, "PodScheduled"):
            time = condition.get("lastTransitionTime")
            yield (EventName.SCHEDULED,), EventName.SCHEDULED, time, {}
        for container in _statuses(status):
            name = container["name"]
            for state in (container.get("lastState") or {}, container.get("state") or {}):
                if running := state.get("running"):
                    key = (EventName.RUNNING, name, str(running.get("startedAt")))
                    yield key, EventName.RUNNING, running.get("startedAt"), {"container": name}
                if ended := state.get("terminated"):
                    key = (EventName.EXITED, name, str(ended.get("containerID")))
                    yield key, EventName.EXITED, ended.get("finishedAt"), _exit(name, ended)
        if metadata.get("deletionTimestamp"):
            grace = metadata.get("deletionGracePeriodSeconds")
            detail = {"gracePeriodSeconds": grace}
            yield (EventName.TERMINATING,), EventName.TERMINATING, None, detail

    def _readiness(self, pod: dict[str, Any], *, live: bool) -> None:
        condition = _condition(pod, "Ready")
        uid = pod["metadata"]["uid"]
        ready = condition is not None
        if ready != self._ready.get(uid, False):
            self._ready[uid] = ready
            time = (condition or {}).get("lastTransitionTime")
            event = EventName.READY if ready else EventName.NOT_READY
            self._say(event, pod, {}, time, live=live)

    def _containers(self, pod: dict[str, Any]) -> None:
        metadata, status = pod["metadata"], pod.get("status") or {}
        labels = metadata.get("labels") or {}
        component = labels.get(LABEL_COMPONENT, "")
        ephemeral = {item["name"] for item in status.get("ephemeralContainerStatuses") or ()}
        for container in _statuses(status):
            if not container.get("containerID"):
                continue
            name = container["name"]
            if name not in ephemeral:
                self._image(component, container.get("imageID") or "")
            self._started(
                Container(
                    metadata["name"], metadata["uid"], name, component, ephemeral=name in ephemeral
                )
            )

    def _say(
        self,
        event: str,
        pod: dict[str, Any],
        extra: dict[str, Any],
        own_time: str | None,
        *,
        live: bool,
    ) -> None:
        metadata = pod["metadata"]
        labels = metadata.get("labels") or {}
        member = labels.get(LABEL_MEMBER, "")
        detail = {
            "uid": metadata["uid"],
            "member": member,
            "component": labels.get(LABEL_COMPONENT, ""),
            "node": (pod.get("spec") or {}).get("nodeName") or "",
            **extra,
        }
        if member in self._zones:
            detail["zone"] = self._zones[member]
        at = micros(own_time) if own_time else None
        if at is not None:
            detail["objectAt"] = at
        own = None if live else at
        self._timeline.write(Source.POD, event, metadata["name"], detail, at=own)


def _statuses(status: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        *(status.get("containerStatuses") or ()),
        *(status.get("ephemeralContainerStatuses") or ()),
    ]


def _condition(pod: dict[str, Any], kind: str) -> dict[str, Any] | None:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == kind and condition["status"] == "True":
            return condition  # type: ignore[no-any-return]
    return None


def _exit(container: str, ended: dict[str, Any]) -> dict[str, Any]:
    detail: dict[str, Any] = {"container": container, "exitCode": ended.get("exitCode")}
    for name in ("signal", "reason", "message"):
        if ended.get(name):
            detail[name] = ended[name]
    if "message" in detail:
        detail["message"] = detail["message"][:MESSAGE_LIMIT]
    return detail
