"""Which objects belong to a run: those that the test owns, and what their controllers made of them.

Labels alone do not tell: a copy of one of the run's objects has them, too. Whatever does not belong
to the run is neither looked at nor touched. The one exception are the pods of `spec.kafkaRef.pods`,
see `is_selected`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from krt_contract.labels import GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_operator.engine.views import Json

WORKLOADS: Final = {
    "StatefulSet": re.compile(r"(kafka|zk|controller)-\d+"),
    "Job": re.compile(r"scoring-\d+|fault-\d+-\d+|dump-kafka-\d+"),
}
"""Kind of an owner of pods to what follows the name of the test in its name."""

BROKER_POD_RULES: Final = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "delete"]},
    {"apiGroups": [""], "resources": ["pods/ephemeralcontainers"], "verbs": ["patch"]},
    {"apiGroups": [GROUP], "resources": ["brokerpods"], "verbs": ["fault"]},
)
"""The Role that the controller needs in the namespace of `spec.kafkaRef.pods`, as the chart has it;
the last rule is the consent of the namespace."""


def owners(obj: Json) -> list[Json]:
    """The owner references of an object."""
    return obj["metadata"].get("ownerReferences") or []


def is_owned(obj: Json, uid: str) -> bool:
    """Whether an object has the test as an owner."""
    return any(owner["uid"] == uid for owner in owners(obj))


def owned_by(objects: Mapping[str, Json], uid: str) -> dict[str, Json]:
    """Those of the objects that have the test as an owner."""
    return {name: obj for name, obj in objects.items() if is_owned(obj, uid)}


def pods_of(
    pods: Mapping[str, Json],
    test: str,
    uid: str,
    workloads: Mapping[tuple[str, str], Json],
    get: Callable[[str, str], Json | None],
) -> dict[str, Json]:
    """Those of the pods that belong to the run.

    Args:
        pods: all with the labels of the run.
        test: name of the test.
        uid: its uid.
        workloads: all StatefulSets and Jobs with the labels of the run, by kind and name.
        get: reads an object by kind and name; only of owners that are not among those.
    """
    own = {key: obj for key, obj in workloads.items() if is_owned(obj, uid)}
    mine = {uid, *(obj["metadata"]["uid"] for obj in own.values())}
    foreign = {obj["metadata"]["uid"] for obj in workloads.values()} - mine

    def is_own(owner: Json) -> bool:
        if owner["uid"] in mine or owner["uid"] in foreign:
            return owner["uid"] in mine
        # A StatefulSet or Job of the run that was deleted before its pod; if it exists, it tells by
        # its own owner to whom its pods belong. Where somebody else's has the name by now, so may
        # the deleted one have been, and Kubernetes deletes the pod in either case.
        kind, name = owner.get("kind", ""), owner.get("name", "")
        pattern = WORKLOADS.get(kind)
        suffix = name.removeprefix(f"{test}-")
        return (
            pattern is not None
            and suffix != name
            and pattern.fullmatch(suffix) is not None
            and (kind, name) not in own
            and ((there := get(kind, name)) is None or is_owned(there, uid))
        )

    found = {name: pod for name, pod in pods.items() if any(map(is_own, owners(pod)))}
    # Executors are owned by the pod of their driver.
    drivers = {pod["metadata"]["uid"] for pod in found.values()}
    executors = {
        name: pod
        for name, pod in pods.items()
        if any(owner["uid"] in drivers for owner in owners(pod))
    }
    return found | executors


def is_selected(pod: Json, uid: str, labels: Mapping[str, str]) -> bool:
    """Whether a pod of somebody else is the one that was chosen and has the labels that it must.

    Args:
        pod: the pod as it is now.
        uid: of the pod in the journal of the fault.
        labels: of `spec.kafkaRef.pods.selector`; without any, no pod is selected.
    """
    found = pod["metadata"].get("labels") or {}
    return (
        bool(uid and labels) and pod["metadata"]["uid"] == uid and labels.items() <= found.items()
    )


def has_same_owner(found: Json, obj: Json) -> bool:
    """Whether an object belongs to the owner of the one that was to be created in its place."""
    uids = {owner["uid"] for owner in owners(obj)}
    return any(owner["uid"] in uids for owner in owners(found))


def with_uid(obj: Json, uid: str) -> Json:
    """The object with the uid as a precondition, so that it changes no other of its name."""
    return {**obj, "metadata": {**obj["metadata"], "uid": uid}}
