"""Typed, read-only views of the Kubernetes objects that phases look at.

A view wraps the object as the API server gave it and answers for fields that may be missing. The
controller never writes through a view: objects to apply are rendered from templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from krt_contract.labels import LABEL_COMPONENT

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
"""A Kubernetes object, or a part of one, as the API server speaks it."""


@dataclass(frozen=True, slots=True)
class ConditionView:
    """One entry of an object's `status.conditions`."""

    raw: Json

    @property
    def reason(self) -> str:
        """The CamelCase reason; empty where there is none."""
        return str(self.raw.get("reason") or "")

    @property
    def message(self) -> str:
        """The message; empty where there is none."""
        return str(self.raw.get("message") or "")

    @property
    def since(self) -> datetime:
        """The last transition."""
        return datetime.fromisoformat(self.raw["lastTransitionTime"])


@dataclass(frozen=True, slots=True)
class ObjectView:
    """What every Kubernetes object has."""

    raw: Json

    @property
    def name(self) -> str:
        """metadata.name."""
        return str(self.raw["metadata"]["name"])

    @property
    def uid(self) -> str:
        """metadata.uid."""
        return str(self.raw["metadata"]["uid"])

    @property
    def resource_version(self) -> str:
        """metadata.resourceVersion; empty where it is not known."""
        return str(self.raw["metadata"].get("resourceVersion", ""))

    @property
    def labels(self) -> dict[str, str]:
        """metadata.labels."""
        found: dict[str, str] = self.raw["metadata"].get("labels") or {}
        return found

    @property
    def component(self) -> str:
        """Which part of the run it is, a `Component`; empty where no label says so."""
        return self.labels.get(LABEL_COMPONENT, "")

    @property
    def annotations(self) -> dict[str, str]:
        """metadata.annotations."""
        found: dict[str, str] = self.raw["metadata"].get("annotations") or {}
        return found

    @property
    def deleting(self) -> bool:
        """Whether metadata.deletionTimestamp is set."""
        return bool(self.raw["metadata"].get("deletionTimestamp"))

    @property
    def phase(self) -> str:
        """status.phase; empty where there is none."""
        return str(self.status.get("phase") or "")

    @property
    def status(self) -> Json:
        """The status; empty where there is none."""
        found: Json = self.raw.get("status") or {}
        return found

    def age(self, now: datetime) -> float:
        """Seconds since the object was created, by the API server's clock."""
        created = datetime.fromisoformat(self.raw["metadata"]["creationTimestamp"])
        return (now - created).total_seconds()

    def condition(self, type_: str, status: str = "True") -> ConditionView | None:
        """The condition of this type, such as Ready, where it has this status."""
        for condition in self.status.get("conditions") or []:
            if condition["type"] == type_ and condition["status"] == status:
                return ConditionView(condition)
        return None


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One entry of a pod's container statuses."""

    raw: Json

    @property
    def name(self) -> str:
        """Name of the container; empty where the status does not say."""
        return str(self.raw.get("name") or "")

    @property
    def image(self) -> str:
        """Image reference of the container."""
        return str(self.raw.get("image") or "")

    @property
    def terminated(self) -> Json | None:
        """state.terminated; None while the container has not ended."""
        found: Json | None = (self.raw.get("state") or {}).get("terminated")
        return found

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the container has not ended."""
        return None if self.terminated is None else self.terminated.get("exitCode")

    @property
    def message(self) -> str:
        """The termination message, else the reason of the end; empty where there is neither."""
        terminated = self.terminated or {}
        return str(terminated.get("message") or terminated.get("reason") or "")

    @property
    def last_terminated(self) -> Json | None:
        """How the container ended last, whether it is to run again or not; None if it never did."""
        found: Json | None = (self.raw.get("lastState") or {}).get("terminated")
        return self.terminated or found

    @property
    def ended_at(self) -> datetime | None:
        """When the container ended last, whether it runs again or not; None if it never did."""
        at = (self.last_terminated or {}).get("finishedAt")
        return datetime.fromisoformat(at) if at else None

    @property
    def restarts(self) -> int:
        """How many times kubelet has started the container again."""
        return int(self.raw.get("restartCount") or 0)

    @property
    def running(self) -> bool:
        """Whether the container runs now."""
        return bool((self.raw.get("state") or {}).get("running"))

    @property
    def ready(self) -> bool:
        """Whether the container's probes succeed."""
        return bool(self.raw.get("ready"))

    @property
    def waiting(self) -> ConditionView | None:
        """Reason and message of a container that waits; None where it does not."""
        found = (self.raw.get("state") or {}).get("waiting")
        return None if found is None else ConditionView(found)

    @property
    def started(self) -> datetime | None:
        """When the container was started; None where it was not."""
        state = self.raw.get("state") or {}
        at = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        return datetime.fromisoformat(at) if at else None

    @property
    def finished(self) -> datetime | None:
        """When the container ended; None where it has not."""
        at = (self.terminated or {}).get("finishedAt")
        return datetime.fromisoformat(at) if at else None


@dataclass(frozen=True, slots=True)
class PodView(ObjectView):
    """A pod."""

    @property
    def node(self) -> str:
        """The node the pod was scheduled on; empty before that."""
        return str(self.raw["spec"].get("nodeName") or "")

    @property
    def ready(self) -> bool:
        """Whether the Ready condition is True and the pod is not being deleted."""
        return not self.deleting and self.condition("Ready") is not None

    @property
    def out_of_contact(self) -> bool:
        """Whether the kubelet that last reported the pod ready reports no more.

        The node lifecycle controller then sets the pod's condition Ready to False. The states of
        the containers, which only the kubelet writes, stay as they were.
        """
        containers = self.containers
        ready = bool(containers) and all(container.ready for container in containers)
        return ready and self.condition("Ready", "False") is not None

    @property
    def running(self) -> bool:
        """Whether the containers have been started, have not ended, and the pod is to stay."""
        return not self.deleting and self.phase == "Running"

    @property
    def ended(self) -> bool:
        """Whether every container has ended for good."""
        return self.phase in {"Succeeded", "Failed"}

    @property
    def containers(self) -> tuple[ContainerView, ...]:
        """The containers that have a status."""
        return _containers(self.status.get("containerStatuses"))

    @property
    def init_containers(self) -> tuple[ContainerView, ...]:
        """The init containers that have a status."""
        return _containers(self.status.get("initContainerStatuses"))

    @property
    def started(self) -> datetime | None:
        """When the first container was started; None where it was not."""
        return self.containers[0].started if self.containers else None

    @property
    def finished(self) -> datetime | None:
        """When the first container ended; None where it has not."""
        return self.containers[0].finished if self.containers else None

    @property
    def exit_code(self) -> int | None:
        """Exit code of the first container that has ended; None where none has."""
        ended = self._first_ended
        return None if ended is None else ended.exit_code

    @property
    def message(self) -> str:
        """Termination message of the first container that has ended, else why the pod failed."""
        ended = self._first_ended
        if ended is not None:
            return ended.message
        return str(self.status.get("message") or self.status.get("reason") or "")

    @property
    def _first_ended(self) -> ContainerView | None:
        return next((each for each in self.containers if each.terminated is not None), None)


@dataclass(frozen=True, slots=True)
class JobView(ObjectView):
    """A Job."""

    @property
    def complete(self) -> bool:
        """Whether the Job has succeeded."""
        return self.condition("Complete") is not None

    @property
    def failed(self) -> ConditionView | None:
        """The Failed condition; None while the Job has not failed."""
        return self.condition("Failed")

    @property
    def ended(self) -> bool:
        """Whether the Job has succeeded or failed."""
        return self.complete or self.failed is not None

    @property
    def failure(self) -> str:
        """Why the Job failed; empty while it has not."""
        failed = self.failed
        if failed is None:
            return ""
        return failed.message or failed.reason or "the Job failed"

    def pod(self, pods: Iterable[Json]) -> PodView | None:
        """The pod of the Job among these, by its owner's uid; None where there is none."""
        for pod in pods:
            owners = pod["metadata"].get("ownerReferences") or []
            if any(owner["uid"] == self.uid for owner in owners):
                return PodView(pod)
        return None


def _containers(statuses: Iterable[Json] | None) -> tuple[ContainerView, ...]:
    return tuple(ContainerView(status) for status in statuses or ())
