"""The API paths of the kinds that the controller uses.

The chart's ClusterRole has to grant access to each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from krt_contract.labels import GROUP, KIND, PLURAL, VERSION


@dataclass(frozen=True)
class Kind:
    """The API path of a kind.

    Attributes:
        root: path prefix, for example `/apis/apps/v1`.
        plural: resource name in paths.
        namespaced: whether the path carries a namespace.
    """

    root: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, an object, or a subresource of it."""
        parts = [self.root]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)


_CORE = "/api/v1"

KINDS: dict[str, Kind] = {
    KIND: Kind(f"/apis/{GROUP}/{VERSION}", PLURAL),
    "Pod": Kind(_CORE, "pods"),
    "Service": Kind(_CORE, "services"),
    "ConfigMap": Kind(_CORE, "configmaps"),
    "PersistentVolumeClaim": Kind(_CORE, "persistentvolumeclaims"),
    "Secret": Kind(_CORE, "secrets"),
    "ServiceAccount": Kind(_CORE, "serviceaccounts"),
    "Event": Kind(_CORE, "events"),
    "Node": Kind(_CORE, "nodes", namespaced=False),
    "StatefulSet": Kind("/apis/apps/v1", "statefulsets"),
    "Job": Kind("/apis/batch/v1", "jobs"),
    "PodDisruptionBudget": Kind("/apis/policy/v1", "poddisruptionbudgets"),
    "NetworkPolicy": Kind("/apis/networking.k8s.io/v1", "networkpolicies"),
    "RoleBinding": Kind("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    "StorageClass": Kind("/apis/storage.k8s.io/v1", "storageclasses", namespaced=False),
}
