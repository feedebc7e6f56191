"""Where the evidence goes: the claim, the class it would be created with, or the object store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from krt_cli.doctor.finding import Finding, blocker, ok, warning
from krt_cli.errors import KubectlError
from krt_contract.bundle import DEFAULT_CLAIM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_cli.kubectl import Kubectl

CHECK: Final = "evidence"
OBJECT_STORE: Final = "objectStore"
SHARED_MODE: Final = "ReadWriteMany"

SHARED: Final = frozenset(
    {
        "cephfs.csi.ceph.com",
        "efs.csi.aws.com",
        "file.csi.azure.com",
        "filestore.csi.storage.gke.io",
        "fsx.csi.aws.com",
        "nfs.csi.k8s.io",
        "openshift-storage.cephfs.csi.ceph.com",
        "rook-ceph.cephfs.csi.ceph.com",
    }
)
"""Provisioners whose volumes every node can write at the same time."""

SINGLE: Final = frozenset(
    {
        "cinder.csi.openstack.org",
        "disk.csi.azure.com",
        "ebs.csi.aws.com",
        "kubernetes.io/aws-ebs",
        "kubernetes.io/azure-disk",
        "kubernetes.io/gce-pd",
        "pd.csi.storage.gke.io",
        "topolvm.io",
    }
)
"""Provisioners of block devices: one node at a time."""

REMEDY: Final = (
    "use the object store of the chart (chart value evidence.default: objectStore), name a class "
    "that supports ReadWriteMany in the chart value evidence.storageClass (EFS, Azure Files, "
    "Filestore, NFS, CephFS; docs/how-to/install.md), or a claim of your own in "
    "spec.evidence.claimName"
)


def place(kubectl: Kubectl, asked: dict[str, Any], settings: Mapping[str, str]) -> Finding:
    """Check where the evidence of a test would go.

    Args:
        kubectl: bound to the namespace of the test.
        asked: `spec.evidence` of the test.
        settings: environment of the controller; empty where it is not known.
    """
    store = asked.get("objectStore")
    if store is None and not asked.get("claimName") and not settings:
        return warning(
            CHECK,
            "the test names no place for its evidence, and the chart's default is not known to you",
            "ask who installed the controller, or set spec.evidence",
        )
    by_default = not asked.get("claimName") and settings.get("KRT_EVIDENCE_DEFAULT") == OBJECT_STORE
    if store is None and not by_default:
        claim = str(asked.get("claimName") or DEFAULT_CLAIM)
        return evidence(kubectl, claim, settings.get("KRT_EVIDENCE_STORAGE_CLASS"))
    if store and store.get("bucket"):
        return _keys(kubectl, store)
    if not settings:
        return warning(
            CHECK,
            "whether the chart has an object store is not known to you",
            "ask who installed the controller",
        )
    if not settings.get("KRT_STORE_BUCKET"):
        return blocker(
            CHECK,
            "the test uses the object store of the chart, and the chart has none",
            "set the chart value evidence.objectStore.enabled to true or "
            "evidence.objectStore.bucket to a bucket, or name a bucket in spec.evidence",
        )
    at = settings.get("KRT_STORE_ENDPOINT") or "AWS"
    return ok(CHECK, f"object store of the chart: bucket {settings['KRT_STORE_BUCKET']} at {at}")


def _keys(kubectl: Kubectl, store: dict[str, Any]) -> Finding:
    name = (store.get("credentials") or {}).get("secretName")
    bucket = f"bucket {store['bucket']} at {store.get('endpoint') or 'AWS'}"
    if name and not _exists(kubectl, "secret", name):
        return blocker(
            CHECK,
            f"{bucket}: there is no Secret {name} in the namespace of the test",
            f"create the Secret {name} with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )
    missing = _missing_ca(kubectl, store.get("ca") or {})
    if missing:
        return blocker(
            CHECK,
            f"{bucket}: there is no {missing} in the namespace of the test",
            f"create the {missing} with the certificate of the CA, or correct "
            "spec.evidence.objectStore.ca",
        )
    return ok(CHECK, f"{bucket}; the preflight of the test writes to it")


def _missing_ca(kubectl: Kubectl, ca: Mapping[str, Any]) -> str:
    """Return the Secret or ConfigMap that is not there; empty where it is, or none is named."""
    for field, kind in (("secretName", "Secret"), ("configMapName", "ConfigMap")):
        name = ca.get(field)
        if name and not _exists(kubectl, kind.lower(), name):
            return f"{kind} {name}"
    return ""


def _exists(kubectl: Kubectl, kind: str, name: str) -> bool:
    return bool(kubectl("get", kind, name, "--ignore-not-found", "--output", "name").strip())


def evidence(kubectl: Kubectl, claim: str, class_name: str | None) -> Finding:
    """Check the claim of a test.

    Args:
        kubectl: bound to the namespace of the test.
        claim: the claim of the test.
        class_name: the class that the controller creates a missing claim with; None if unknown.
    """
    text = kubectl("get", "pvc", claim, "--ignore-not-found", "--output", "json").strip()
    if text:
        return _claim(claim, json.loads(text))
    if class_name is None:
        return warning(
            CHECK,
            f"there is no claim {claim}, and the controller's storage class is not known to you",
            f"create the claim {claim} ({SHARED_MODE}), or ask who installed the controller",
        )
    return _class(kubectl, claim, class_name)


def _claim(name: str, body: dict[str, Any]) -> Finding:
    modes = body["spec"].get("accessModes") or []
    phase = (body.get("status") or {}).get("phase", "Pending")
    if SHARED_MODE not in modes:
        return blocker(CHECK, f"claim {name} is {', '.join(modes)}, not {SHARED_MODE}", REMEDY)
    if phase == "Lost":
        return blocker(CHECK, f"claim {name} has lost its volume", "delete the claim")
    if phase != "Bound":
        return warning(
            CHECK, f"claim {name} is {phase}", f"kubectl describe pvc {name} says what is missing"
        )
    return ok(CHECK, f"claim {name} is bound and {SHARED_MODE}")


def _class(kubectl: Kubectl, claim: str, name: str) -> Finding:
    try:
        found = kubectl("get", "storageclass", name, "--ignore-not-found", "--output", "json")
    except KubectlError:
        return warning(
            CHECK, f"you may not read the storage class {name}", "check that it exists" + MODE
        )
    if not found.strip():
        return blocker(CHECK, f"storage class {name} does not exist", REMEDY)
    provisioner = str(json.loads(found).get("provisioner", ""))
    if provisioner in SHARED:
        return ok(CHECK, f"claim {claim} will be created with class {name} ({provisioner})")
    if provisioner in SINGLE:
        return blocker(
            CHECK, f"class {name} ({provisioner}) provides volumes for one node at a time", REMEDY
        )
    return warning(
        CHECK,
        f"whether class {name} ({provisioner}) supports {SHARED_MODE} is not known here",
        "the preflight of the first test checks it; if it fails with EvidenceNotShared, " + REMEDY,
    )


MODE: Final = f" and supports {SHARED_MODE}"
