"""The files that clients of a secured cluster log in with, in the pods that have such clients.

As a volume, never as variables: those are shown by `kubectl describe`, inherited by every child,
and copied into crash reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.kafka_security import FOLDER, Security

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

VOLUME: Final = "kafka"
"""Name of the volume."""

MODE: Final = 0o440
"""For the pod's user by its group: the files are root's."""


def secret_volumes(plan: Plan) -> list[Json]:
    """The volume with the keys of Secrets under the names that clients know; none without any."""
    items: dict[str, list[Json]] = {}
    for key in Security.of(plan.resolved_spec).keys:
        items.setdefault(key.secret, []).append({"key": key.key, "path": str(key.file)})
    if not items:
        return []
    sources = [{"secret": {"name": name, "items": keys}} for name, keys in items.items()]
    return [{"name": VOLUME, "projected": {"defaultMode": MODE, "sources": sources}}]


def secret_mounts(plan: Plan) -> list[Json]:
    """Where a container mounts it."""
    return [
        {"name": volume["name"], "mountPath": FOLDER, "readOnly": True}
        for volume in secret_volumes(plan)
    ]
