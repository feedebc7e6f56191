"""Samples on secured clusters, and what must be in no evidence: the contents of their Secrets."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from kit.run import LABEL, manifest

if TYPE_CHECKING:
    from kit.run import Run


def secured(path: str, crash: str, role: str) -> dict[str, Any]:
    """A sample on a secured cluster, with a second crash after its own.

    Args:
        path: of the sample's manifest.
        crash: name of the second fault.
        role: whom it crashes.
    """
    sample = manifest(path)
    sample["spec"]["kafka"]["security"] = {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-512"}}
    sample["spec"]["faults"].append(
        {
            "name": crash,
            "delay": "5s",
            "action": "CrashPod",
            "target": {"role": role},
            "duration": "10s",
        }
    )
    return sample


def secrets_of(run: Run) -> dict[str, dict[str, str]]:
    """The Secrets of a run: name without the test's and the run's, to its data."""
    return {
        one["metadata"]["name"].removeprefix(f"{run.name}-").rsplit("-", 1)[0]: one["data"]
        for one in run.kubectl.get("secrets")["items"]
        if one["metadata"]["labels"].get(LABEL) == run.uid
    }


def leaks_of(run: Run) -> list[str]:
    """The places that hold a line of what is secret: files of the bundle, or ``objects``."""
    texts = {
        line
        for data in secrets_of(run).values()
        for key, value in data.items()
        if key != "ca.crt"
        for line in base64.b64decode(value).splitlines()
        if b"-----" not in line
    }
    places = {str(path): path.read_bytes() for path in run.bundle.rglob("*") if path.is_file()}
    objects = run.kubectl("get", "krt,configmaps,jobs,pods,events", "--output", "json")
    places["objects"] = objects.encode()
    return [place for place, content in places.items() if any(text in content for text in texts)]
