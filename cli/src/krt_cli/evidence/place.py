"""Where the evidence of a test is: on a claim, or in an object store."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_cli.errors import CouldNotRunError
from krt_contract.bundle import DEFAULT_CLAIM
from krt_contract.plan import PLAN_FILE
from krt_contract.stores.ca import FILE as CA_FILE
from krt_contract.stores.settings import (
    ACCESS_KEY,
    DEFAULT_REGION,
    SECRET_KEY,
    ObjectStoreSettings,
    evidence_account,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_cli.kubectl import Kubectl
    from krt_cli.resource import Test


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim in the namespace of the test.

    Attributes:
        name: of the claim.
    """

    name: str

    def __str__(self) -> str:
        """Return the claim in words."""
        return f"claim {self.name}"


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of an object store.

    Attributes:
        store: how it is reached.
        secret: the Secret with its keys, in the namespace of the test; empty for none.
        ca: the CAs that it is trusted by, as `ca` of the resource; empty for those of the image.
        account: the service account of a pod that reads it by its identity; empty for none.
    """

    store: ObjectStoreSettings
    secret: str
    ca: Mapping[str, Any] = field(default_factory=dict)
    account: str = ""

    def __str__(self) -> str:
        """Return the bucket in words."""
        return f"bucket {self.store.path('')}"

    def variables(self) -> list[dict[str, Any]]:
        """Return the environment of a container that reads the store."""
        found: list[dict[str, Any]] = [
            {"name": name, "value": value} for name, value in self.store.variables().items()
        ]
        if self.secret:
            found += [
                {"name": key, "valueFrom": {"secretKeyRef": {"name": self.secret, "key": key}}}
                for key in (ACCESS_KEY, SECRET_KEY)
            ]
        return found


def place_of(kubectl: Kubectl, test: Test) -> Claim | Bucket:
    """Return where the evidence of a test is.

    The plan says it. A test that has none has no evidence, and only its own words are left.

    Args:
        kubectl: bound to the namespace of the test.
        test: the test.

    Raises:
        CouldNotRunError: it is in the object store of the chart, and there is no plan.
    """
    asked = test.spec.get("evidence") or {}
    found = _planned(kubectl, test.identity[1]) or asked
    store = found.get("objectStore")
    if store is None:
        return Claim(str(found.get("claimName") or DEFAULT_CLAIM))
    if not store.get("bucket"):
        raise CouldNotRunError(
            f"the test {test.identity[1]} has no plan, so it has no evidence",
            "krt explain says how it ended",
        )
    settings = ObjectStoreSettings(
        bucket=store["bucket"],
        endpoint=store.get("endpoint", ""),
        region=store.get("region", DEFAULT_REGION),
        prefix=store.get("prefix", ""),
        path_style=store.get("pathStyle", True),
        ca_file=CA_FILE if store.get("ca") else "",
    )
    secret = str((store.get("credentials") or {}).get("secretName", ""))
    account = "" if secret else evidence_account(test.identity[1])
    return Bucket(settings, secret, store.get("ca") or {}, account)


def _planned(kubectl: Kubectl, name: str) -> dict[str, Any]:
    text = kubectl(
        "get", "configmap", f"{name}-plan", "--ignore-not-found", "--output", "json"
    ).strip()
    if not text:
        return {}
    plan = json.loads(json.loads(text)["data"][PLAN_FILE])
    found: dict[str, Any] = plan["spec"].get("evidence") or {}
    return found
