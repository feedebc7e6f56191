"""The simulated cluster's API server: the Cluster port with the semantics of the real one.

uid preconditions, one ephemeral container per name, disruption budgets, claims that stay while a
pod uses them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.unit.operator.faults.doubles.nodes import SimulatedNodes

from krt_contract.labels import LABEL_MEMBER
from krt_operator.engine.progress import Deletion, Eviction
from krt_operator.errors import GoneError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from krt_operator.engine.views import Json


class SimulatedApi(SimulatedNodes):
    """The Cluster and Clock ports."""

    def now(self) -> datetime:
        return self.time

    def get(self, kind: str, name: str) -> Json | None:
        raise NotImplementedError

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        raise NotImplementedError

    def tests(self) -> Sequence[Json]:
        raise NotImplementedError

    def delete(self, deletion: Deletion) -> bool:
        if deletion.kind == "PersistentVolumeClaim":
            return self._delete_claim(deletion)
        pod = self.pods.get(deletion.name)
        if pod is None or deletion.uid not in (None, pod["metadata"]["uid"]):
            return False
        self.deleted.append(deletion.name)
        if deletion.name in self.unreachable:
            self._begin_deletion(deletion.name)
        else:
            self._remove(deletion.name)
        return True

    def evict(self, deletion: Deletion) -> Eviction:
        """As the API server does: a budget of N-1 ready members of the pod's kind."""
        pod = self.pods.get(deletion.name)
        if pod is None or deletion.uid != pod["metadata"]["uid"]:
            return Eviction()
        kind = pod["spec"]["containers"][0]["name"]
        members = [member.pod for member in self.plan.members if member.kind == kind]
        healthy = sum(self.is_up(pod) for pod in members)
        if self.is_up(deletion.name) and healthy <= len(members) - 1:
            needs = f"needs {len(members) - 1} healthy pods and has {healthy} currently"
            return Eviction(refused=f"The disruption budget t-{kind} {needs}")
        self.evicted.append(deletion.name)
        self._remove(deletion.name)
        return Eviction(evicted=True)

    def apply(self, obj: Json) -> Json:
        name = obj["metadata"]["name"]
        if obj["kind"] == "StatefulSet":
            self.sets[name] = obj["spec"]["replicas"]
        elif obj["kind"] == "PersistentVolumeClaim":
            # A claim that is being deleted stays so, whatever is applied to it.
            if name not in self.claims:
                self._make_claim(name)
        elif name not in self.pods:
            labels = obj["metadata"]["labels"]
            self.start_pod(name, "traffic", labels[LABEL_MEMBER], timedelta())
        return obj

    def check_create(self, obj: Json) -> None:
        raise NotImplementedError

    def create_unread(self, obj: Json) -> None:
        raise NotImplementedError

    def annotate_pod(self, pod: str, uid: str, annotations: Mapping[str, str]) -> None:
        raise NotImplementedError

    def create(self, obj: Json) -> Json:
        """Faults create only Jobs; the tool of a Job reports after 3 s."""
        name = obj["metadata"]["name"]
        if name not in self.jobs:
            self.serial += 1
            meta = obj["metadata"] | {"uid": f"uid-{self.serial}"}
            self.jobs[name] = obj | {"metadata": meta, "born": self.time}
        return self.jobs[name]

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        found = self.pods.get(pod)
        if found is None or found["metadata"]["uid"] != uid:
            raise GoneError(pod)
        present = found["spec"].setdefault("ephemeralContainers", [])
        if all(other["name"] != container["name"] for other in present):
            present.append(container)
            if self.ephemeral_works:
                self._signal(found, container)
        return found
