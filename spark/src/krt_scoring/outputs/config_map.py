"""The ConfigMap that carries the scorecard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightkube.core.client import Client
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference
from lightkube.resources.core_v1 import ConfigMap

from krt_contract.labels import Component, FieldManager, object_labels, owner_reference
from krt_scoring.outputs.scorecard import dump

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 256 * 1024
"""Bytes of the scorecard in its ConfigMap; the API server accepts 1 MiB, but etcd holds it all."""


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
    if len(text.encode()) <= MAX_BYTES:
        return text
    rows = [
        {key: value for key, value in row.items() if key != "gaps"}
        for row in card.get("availability", [])
    ]
    left_out = {"availability": rows, "partitions": [], "gapsTruncated": True}
    if "replicas" in card:
        left_out["replicas"] = []
    return dump({**small, **left_out})


def build(name: str, namespace: str, test: str, uid: str, card: Mapping[str, Any]) -> ConfigMap:
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


def publish(config_map: ConfigMap) -> None:
    """Write the ConfigMap by server-side apply.

    Raises:
        lightkube.ApiError: the API server refused it.
    """
    Client().apply(config_map, field_manager=str(FieldManager.SCORING), force=True)
