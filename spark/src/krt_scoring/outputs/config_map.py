"""The ConfigMap that carries the scorecard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightkube.core.client import Client
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference
from lightkube.resources.core_v1 import ConfigMap

from krt_scoring.outputs.scorecard import dump

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 256 * 1024
"""Bytes of the scorecard in its ConfigMap; the API server accepts 1 MiB, but etcd holds it all."""

FIELD_MANAGER = "krt-scoring"


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
            labels={
                "app.kubernetes.io/name": "kafka-resilience",
                "app.kubernetes.io/instance": test,
                "app.kubernetes.io/component": "scoring",
                "app.kubernetes.io/part-of": "kafka-resilience",
                "app.kubernetes.io/managed-by": "krt-operator",
                "kafkaresilience.dev/test": test,
                "kafkaresilience.dev/test-uid": uid,
                "kafkaresilience.dev/member": "scoring",
            },
            ownerReferences=[
                OwnerReference(
                    apiVersion="kafkaresilience.dev/v1alpha1",
                    kind="KafkaResilienceTest",
                    name=test,
                    uid=uid,
                    controller=True,
                )
            ],
        ),
        data={"scorecard.json": slim(card)},
    )


def publish(config_map: ConfigMap) -> None:
    """Write the ConfigMap by server-side apply.

    Raises:
        lightkube.ApiError: the API server refused it.
    """
    Client().apply(config_map, field_manager=FIELD_MANAGER, force=True)
