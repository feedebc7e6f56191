"""Where the evidence of a test is (on a claim, in an object store), and which image can read it."""

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


def read_plan(kubectl: Kubectl, name: str) -> dict[str, Any]:
    """Return the plan of a test as JSON holds it; empty where it has none.

    Args:
        kubectl: bound to the namespace of the test.
        name: of the test.
    """
    text = kubectl(
        "get", "configmap", f"{name}-plan", "--ignore-not-found", "--output", "json"
    ).strip()
    plan: dict[str, Any] = json.loads(json.loads(text)["data"][PLAN_FILE]) if text else {}
    return plan


def place_of(test: Test, plan: Mapping[str, Any]) -> Claim | Bucket:
    """Return where the evidence of a test is.

    Args:
        test: the test. Where there is no plan, there is no evidence, and only its own words are
            left.
        plan: its plan; empty for none.

    Raises:
        CouldNotRunError: it is in the object store of the chart, and there is no plan.
    """
    asked = test.spec.get("evidence") or {}
    found = (plan.get("spec") or {}).get("evidence") or asked
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


def image_of(place: Claim | Bucket, images: Mapping[str, str]) -> str:
    """Return the image that can read the evidence; empty where it is not among these.

    Args:
        place: where the evidence is.
        images: component → image.
    """
    return images.get("operator" if isinstance(place, Claim) else "traffic", "")
