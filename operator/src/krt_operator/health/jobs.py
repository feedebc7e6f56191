"""What Jobs say about themselves, read the same way by phases and faults. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.engine.ports import Json


def pod_of(job: Json, pods: Iterable[Json]) -> Json | None:
    """The pod a Job runs in, by its owner's uid; None while it has none, or none any more."""
    uid = job["metadata"]["uid"]
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or []
        if any(one["uid"] == uid for one in owners):
            return pod
    return None


def why_failed(failed: Json) -> str:
    """What a Failed condition says."""
    return str(failed.get("message") or failed.get("reason") or "the Job failed")
