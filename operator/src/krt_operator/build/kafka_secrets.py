"""The files that clients of a secured cluster log in with, in the pods that have such clients.

As a volume, never as variables: those are shown by `kubectl describe`, inherited by every child,
and copied into crash reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.cluster_security import security_of
from krt_contract.kafka_security import FOLDER

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

VOLUME: Final = "kafka"
"""Name of the volume."""

MODE: Final = 0o440
"""For the pod's user by its group: the files are root's."""


@dataclass(frozen=True)
class KafkaSecrets:
    """What a pod needs whose clients log in to Kafka; nothing where they log in with no secret.

    Attributes:
        volumes: of the pod.
        mounts: of its container.
    """

    volumes: tuple[Json, ...] = ()
    mounts: tuple[Json, ...] = ()


def kafka_secrets(plan: Plan) -> KafkaSecrets:
    """The keys of Secrets under the names that clients know, in one volume."""
    items: dict[str, list[Json]] = {}
    for key in security_of(plan).keys:
        items.setdefault(key.secret, []).append({"key": key.key, "path": str(key.file)})
    if not items:
        return KafkaSecrets()
    sources = [{"secret": {"name": name, "items": keys}} for name, keys in items.items()]
    volume = {"name": VOLUME, "projected": {"defaultMode": MODE, "sources": sources}}
    return KafkaSecrets((volume,), ({"name": VOLUME, "mountPath": FOLDER, "readOnly": True},))
