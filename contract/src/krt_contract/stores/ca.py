"""The certificates of the CAs that an object store is trusted by, as pods mount them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = "/etc/krt/store-ca"
"""Where pods mount them."""

KEY: Final = "ca.crt"
"""Key of a Secret or ConfigMap unless another one is named, as cert-manager's Secrets have it."""

FILE: Final = f"{FOLDER}/ca.crt"

VOLUME: Final = "store-ca"


def mount() -> dict[str, Any]:
    """Return the volume mount of a container that reads or writes the store."""
    return {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}


def volume(ca: Mapping[str, Any]) -> dict[str, Any]:
    """Return the volume of a pod that reads or writes the store.

    Args:
        ca: ``objectStore.ca`` of the resource: ``secretName`` or ``configMapName``, and ``key``.
    """
    items = [{"key": ca.get("key") or KEY, "path": FILE.rpartition("/")[2]}]
    if ca.get("secretName"):
        source = {"secret": {"secretName": ca["secretName"], "items": items}}
    else:
        source = {"configMap": {"name": ca["configMapName"], "items": items}}
    return {"name": VOLUME, **source}
