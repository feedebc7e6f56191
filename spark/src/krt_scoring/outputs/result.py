"""What the driver tells Kubernetes: the scorecard ConfigMap and the termination message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lightkube.core.client import Client
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference
from lightkube.resources.core_v1 import ConfigMap

from krt_contract.labels import Component, FieldManager, object_labels, owner_reference
from krt_scoring import expectations
from krt_scoring.outputs.scorecard import dump

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CONFIGMAP = 256 * 1024
"""Bytes of the scorecard in its ConfigMap (the API server takes 1 MiB; etcd should not have to)."""

MAX_MESSAGE = 2048
"""Bytes of the termination message; the kubelet keeps 4096."""


def slim(card: Mapping[str, Any]) -> str:
    """Return the scorecard without examples, small enough for a ConfigMap.

    Gaps and the tables of partitions and replicas are left out too where they make it too large;
    counts, totals and maxima stay.
    """
    anomalies = {
        name: {key: value for key, value in item.items() if key != "examples"}
        for name, item in card.get("anomalies", {}).items()
    }
    small = {**card, "anomalies": anomalies}
    text = dump(small)
    if len(text.encode()) <= MAX_CONFIGMAP:
        return text
    rows = [
        {key: value for key, value in row.items() if key != "gaps"}
        for row in card.get("availability", [])
    ]
    left_out = {"availability": rows, "partitions": [], "gapsTruncated": True}
    if "replicas" in card:
        left_out["replicas"] = []
    return dump({**small, **left_out})


def config_map(
    name: str, namespace: str, test: str, uid: str, card: Mapping[str, Any]
) -> ConfigMap:
    """Return the ConfigMap that carries the scorecard; the test owns it."""
    return ConfigMap(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            labels=object_labels(test, uid, Component.SCORING, Component.SCORING),
            ownerReferences=[OwnerReference(**owner_reference(test, uid, blocks_deletion=False))],
        ),
        data={"scorecard.json": slim(card)},
    )


def publish(found: ConfigMap) -> None:
    """Write the ConfigMap by server-side apply.

    Raises:
        lightkube.ApiError: the API server refused it.
    """
    Client().apply(found, field_manager=str(FieldManager.SCORING), force=True)


def message(card: Mapping[str, Any]) -> str:
    """Return the termination message: verdict, score, summary, ledger, top anomaly.

    And how the detector did on its own test, where it was tested.
    """
    told: dict[str, Any] = {
        "verdict": card["verdict"],
        "score": card.get("score"),
        "summary": card["summary"],
        "ledger": card.get("ledger", {}),
        "inconclusiveReasons": sorted({reason["code"] for reason in card["inconclusiveReasons"]}),
        "topAnomaly": _top(card),
    }
    claimed = expectations.told(card.get("expectationResults") or ())
    if claimed is not None:
        told["expectationResults"] = claimed
    tested = card.get("selfTest")
    if tested:
        told["selfTest"] = {name: tested[name] for name in ("detected", "total")}
    text = json.dumps(told, sort_keys=True, ensure_ascii=False)
    excess = len(text.encode()) - MAX_MESSAGE
    if excess > 0:
        told["summary"] = told["summary"].encode()[: -excess - 1].decode(errors="ignore")
        text = json.dumps(told, sort_keys=True, ensure_ascii=False)
    return text


def _top(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The anomaly to name first: violations before what is permitted, the larger count first."""
    found = [
        (item["class"] != "Violation", -item["count"], name)
        for name, item in card.get("anomalies", {}).items()
        if item["count"]
    ]
    if not found:
        return None
    name = min(found)[2]
    item = card["anomalies"][name]
    return {"anomaly": name, "class": item["class"], "count": item["count"]}
