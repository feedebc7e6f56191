# ruff: noqa: INP001 - the text of helm test, no module of a package
"""Checks with the controller's account: the CRD is served, rights, where evidence goes."""

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SERVER = "https://kubernetes.default.svc"
TESTS = "kafkaresilience.dev"
NEEDED = (
    ("list", TESTS, "kafkaresiliencetests", ""),
    ("update", TESTS, "kafkaresiliencetests", "status"),
    ("patch", "", "pods", "ephemeralcontainers"),
    ("create", "apps", "statefulsets", ""),
    ("create", "batch", "jobs", ""),
)


def call(path: str, body: object = None) -> dict:
    """Return the answer of the API server as JSON."""
    request = urllib.request.Request(  # noqa: S310 - always https
        SERVER + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/json",
        },
    )
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=20, context=trust) as answer:  # noqa: S310
        return json.load(answer)


def allowed(namespace: str, verb: str, group: str, resource: str, subresource: str) -> bool:
    """Return whether this account has the right."""
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {**asked, "namespace": namespace}},
    }
    return call("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)["status"][
        "allowed"
    ]


try:
    served = call(f"/apis/{TESTS}/v1alpha1")["resources"]
except urllib.error.HTTPError as error:
    sys.exit(f"the CRD is not installed (HTTP {error.code}); set the chart value crds.enabled=true")
sys.stdout.write(f"served: {', '.join(one['name'] for one in served)}\n")
endpoint = os.environ["STORE_ENDPOINT"]
if endpoint:
    try:
        urllib.request.urlopen(f"{endpoint}/health", timeout=20).close()  # noqa: S310 - http
    except OSError as error:
        sys.exit(
            f"the object store at {endpoint} does not answer ({error}); kubectl describe pod of "
            "the store says what it lacks: a volume, its image, or room on the nodes"
        )
    sys.stdout.write(f"evidence: the object store at {endpoint} answers\n")
name = os.environ["STORAGE_CLASS"]
if name:
    try:
        found = call(f"/apis/storage.k8s.io/v1/storageclasses/{name}")
        sys.stdout.write(f"evidence on claims: storage class {name} of {found['provisioner']}\n")
    except urllib.error.HTTPError as error:
        # No failure: a test may use an object store, or name a claim of its own.
        sys.stdout.write(
            f"evidence on claims: storage class {name} cannot be read (HTTP {error.code}); set the "
            "chart value evidence.storageClass, or name a claim in spec.evidence.claimName of each "
            "test\n"
        )
missing = [
    f"{verb} {resource} in {namespace or 'every namespace'}"
    for namespace in os.environ["NAMESPACES"].split(",")
    for verb, group, resource, subresource in NEEDED
    if not allowed(namespace, verb, group, resource, subresource)
]
remedy = "upgrade the release with this chart, or let a cluster admin grant it"
sys.exit(f"the controller lacks the right to {'; '.join(missing)}; {remedy}" if missing else 0)
