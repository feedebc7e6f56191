"""Pods that a StatefulSet or a Job should have created and has not. Pure.

A pod of theirs that the API server refuses (quota, Pod Security, a webhook) is mentioned only in
their events, and they try for ever. The API server can be asked for the reason: the same pod is
refused to the controller, too.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_operator.engine.views import JobView, ObjectView

if TYPE_CHECKING:
    from krt_operator.engine.progress import Observed
    from krt_operator.engine.views import Json

CREATED_WITHIN: Final = timedelta(seconds=10)
"""How long the controller manager may take to create a pod: it needs less than a second, unless it
is being restarted or has many at once."""


def uncreated_pods(observed: Observed, *, scoring: bool) -> list[Json]:
    """The pods, as their owner's template describes them.

    Args:
        observed: the run's objects.
        scoring: whether the driver is needed by now; it is created before.
    """
    found = []
    for obj in observed.stateful_sets.values():
        stateful_set = ObjectView(obj)
        pod = f"{stateful_set.name}-0"
        if obj["spec"].get("replicas", 1) and pod not in observed.pods:
            found.append((stateful_set, pod))
    for obj in observed.jobs.values():
        job = JobView(obj)
        early = job.component == Component.SCORING and not scoring
        if not early and not job.ended and job.pod(observed.pods.values()) is None:
            found.append((job, f"{job.name}-0"))
    return [
        _pod(owner, name)
        for owner, name in found
        if not owner.deleting and owner.age(observed.at) > CREATED_WITHIN.total_seconds()
    ]


def _pod(owner: ObjectView, name: str) -> Json:
    template = owner.raw["spec"]["template"]
    metadata = template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    spec = dict(template["spec"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, "name": name}, "spec": spec}
