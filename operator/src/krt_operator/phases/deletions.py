"""What is deleted of a run, by labels: all that it built, or only the members of its cluster.

The scoring Job, the scorecard, the plan and the evidence stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.labels import MEMBERS, Component
from krt_operator.engine.progress import Deletion
from krt_operator.engine.reading import NETWORK_POLICY
from krt_operator.engine.views import JobView, ObjectView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json

TRANSIENT: Final = frozenset(
    {
        *MEMBERS,
        Component.PRODUCER,
        Component.CONSUMER,
        Component.RECORDER,
        Component.PREFLIGHT,
        Component.TOOL,
    }
)
"""Components whose objects are deleted at the end."""

MEMBER_GRACE: Final = 1
"""Grace period of a member's pod in seconds: its volume is deleted with it."""


def at_the_end(observed: Observed, *, scored: bool) -> list[Deletion]:
    """What is left to delete of all that the run built, pods first.

    The kubelet uses the grace period of the first deletion. If a StatefulSet were deleted before
    its pod, that would be the pod's own grace period, all of which brokers without ZooKeeper use.
    No pod is created meanwhile: a StatefulSet waits until its pod is gone. NetworkPolicies are
    last, so that a pod which is still there keeps its own.
    """
    pods = [pod for pod in observed.pod_views() if pod.component in TRANSIENT]
    found = [_deletion("Pod", pod, MEMBER_GRACE) for pod in pods]
    found += _deletions_of("StatefulSet", observed.stateful_sets.values())
    found += [_deletion("Job", job) for job in _jobs_to_delete(observed, scored=scored)]
    found += _deletions_of("PersistentVolumeClaim", observed.claims.values())
    found += _other_deletions(observed)
    policies = [obj for (kind, _), obj in observed.others.items() if kind == NETWORK_POLICY]
    return found or _deletions_of(NETWORK_POLICY, policies)


def once_topics_are_read(observed: Observed) -> list[Deletion]:
    """What scoring can do without: the members, and the pods of traffic that has ended.

    In the same order, for the same reason. Whatever else was built stays until the end: it costs no
    processor time, and takes no time to delete.
    """
    pods = [
        pod
        for pod in observed.pod_views()
        if pod.component in MEMBERS or (pod.component in TRANSIENT and pod.ended)
    ]
    found = [_deletion("Pod", pod, MEMBER_GRACE) for pod in pods]
    found += _deletions_of("StatefulSet", observed.stateful_sets.values())
    return found + _deletions_of("PersistentVolumeClaim", observed.claims.values())


def not_begun(deletions: Iterable[Deletion], observed: Observed) -> tuple[Deletion, ...]:
    """Those of objects that are not being deleted yet."""
    lasting = (*observed.pod_views(), *map(ObjectView, observed.claims.values()))
    begun = {obj.uid for obj in lasting if obj.deleting}
    return tuple(deletion for deletion in deletions if deletion.uid not in begun)


def _jobs_to_delete(observed: Observed, *, scored: bool) -> list[JobView]:
    """Tools; and scoring that would go on without its cluster. What has ended stays for its log.

    Scoring that has given its result ends by itself in a moment.
    """
    found = []
    for job in map(JobView, observed.jobs.values()):
        pod = job.pod(observed.pods.values())
        ended = job.ended or (pod is not None and pod.ended)
        if job.component == Component.TOOL or not (ended or scored):
            found.append(job)
    return found


def _other_deletions(observed: Observed) -> list[Deletion]:
    """Of the other objects of transient components; plan, control, scripts and scoring stay."""
    objects = [("ConfigMap", ObjectView(obj)) for obj in observed.config_maps.values()]
    objects += [(kind, ObjectView(obj)) for (kind, _), obj in sorted(observed.others.items())]
    return [_deletion(kind, obj) for kind, obj in objects if obj.component in TRANSIENT]


def _deletions_of(kind: str, objects: Iterable[Json]) -> list[Deletion]:
    return [_deletion(kind, ObjectView(obj)) for obj in objects]


def _deletion(kind: str, obj: ObjectView, grace_seconds: int | None = None) -> Deletion:
    return Deletion(kind, obj.name, obj.uid, grace_seconds)
