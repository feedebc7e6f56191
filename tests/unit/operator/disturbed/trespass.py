"""Objects of somebody else that look like the run's, put in the controller's way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from tests.unit.operator.doubles.kubelets import NAMESPACE, TEST
from tests.unit.operator.doubles.objects import copied

from krt_contract.labels import API_VERSION, KIND, LABEL_TEST, LABEL_TEST_UID

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World

    from krt_operator.engine.views import Json

ELSE = "uid-of-somebody-else"
OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "else", "uid": ELSE}


class Trick(StrEnum):
    """How an object is mistaken for one of the run's."""

    COPY = "a copy with all labels and without an owner, under another name"
    FOREIGN_OWNER = "a copy with all labels and another owner"
    RECREATED = "deleted by a user and created again: labels, no owner, another uid"
    BARE = "deleted by a user and created again without labels"
    OTHER_TEST = "of a test whose name begins with the name of this one"
    NAMESAKE = "there before the run, under a name that the run needs"


@dataclass(frozen=True)
class Plant:
    """An object that is planted.

    Attributes:
        trick: how.
        phase: when: in the first pass of this phase.
        pick: which of the objects, by its place among all.
        key: its kind and name instead.
    """

    trick: Trick
    phase: str
    pick: int = 0
    key: tuple[str, str] | None = None

    def __call__(self, world: World, names: list[tuple[str, str]]) -> None:
        """Plant it.

        Args:
            world: of the run.
            names: kinds and names of everything that the run creates.
        """
        if self.trick is Trick.NAMESAKE:
            kind, name = self.key or names[self.pick % len(names)]
            if (kind, name) not in world.objects:
                _put(world, _smallest(kind, name))
            return
        there = [key for key in sorted(world.objects) if key in set(names)]
        if not there:
            return
        kind, name = self.key or there[self.pick % len(there)]
        obj = copied(world.objects[kind, name])
        for field in ("status", "born", "driver", "gone", "dead", "back"):
            obj.pop(field, None)
        meta = {"namespace": NAMESPACE, "labels": obj["metadata"].get("labels", {}), "name": name}
        match self.trick:
            case Trick.COPY:
                meta["name"] = f"{name}-copy"
            case Trick.FOREIGN_OWNER:
                meta |= {"name": f"{name}-else", "ownerReferences": [OWNER]}
            case Trick.RECREATED:
                world.remove(kind, name)
            case Trick.BARE:
                world.remove(kind, name)
                meta["labels"] = {}
            case _:
                owner = {"apiVersion": API_VERSION, "kind": KIND, "name": "t-kafka", "uid": ELSE}
                meta |= {
                    "name": name.replace(f"{TEST}-", "t-kafka-", 1),
                    "labels": meta["labels"] | {LABEL_TEST: "t-kafka", LABEL_TEST_UID: ELSE},
                    "ownerReferences": [owner],
                }
        obj["metadata"] = meta | {
            "annotations": obj["metadata"].get("annotations", {}),
        }
        if (kind, meta["name"]) not in world.objects:
            _put(world, obj)


def _put(world: World, obj: Json) -> None:
    """Create it; a pod of somebody else does none of the run's work."""
    if ("Deployment", "else") not in world.objects:
        world.put({"kind": "Deployment", "metadata": {"name": "else", "uid": ELSE}})
    if obj["kind"] == "Pod":
        world.stuck.add(obj["metadata"]["name"])
    world.put(obj)


def _smallest(kind: str, name: str) -> dict[str, Any]:
    template: dict[str, Any] = {
        "metadata": {"labels": {}},
        "spec": {"containers": [{"name": "else"}]},
    }
    specs: dict[str, dict[str, Any]] = {
        "Pod": template["spec"],
        "StatefulSet": {"replicas": 0, "template": template},
        "Job": {"template": template},
        "PodDisruptionBudget": {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 0},
        "PersistentVolumeClaim": {"accessModes": ["ReadWriteMany"]},
    }
    meta = {"name": name, "namespace": NAMESPACE, "labels": {}}
    return {"kind": kind, "metadata": meta, "spec": copied(specs.get(kind, {})), "data": {}}
