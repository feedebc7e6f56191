"""What the installation gives the controller, read from the environment once at start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_operator.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Settings:
    """The installation's values; the chart sets every one.

    Attributes:
        image_operator, image_traffic, image_scoring, image_kafka: image references.
        image_pull_policy: of every container we make.
        evidence_storage_class: class of the evidence claim where the controller creates it.
        max_concurrent_tests: tests past Pending at once; the others wait, `Queued`.
        watch_namespaces: namespaces looked at; empty: all.
        metrics_port: where Prometheus finds the metrics; 0: nowhere.
    """

    image_operator: str
    image_traffic: str
    image_scoring: str
    image_kafka: str
    image_pull_policy: str = "IfNotPresent"
    evidence_storage_class: str = "krt-evidence"
    max_concurrent_tests: int = 8
    watch_namespaces: tuple[str, ...] = ()
    metrics_port: int = 0

    @classmethod
    def from_environment(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """Read `KRT_*`.

        Raises:
            UserError: a variable is missing or is no number; names the chart's value.
        """
        namespaces = env.get("KRT_WATCH_NAMESPACES", "").split(",")
        return cls(
            image_operator=env.get("KRT_IMAGE_OPERATOR", ""),
            image_traffic=_required(env, "KRT_IMAGE_TRAFFIC", "images.traffic"),
            image_scoring=_required(env, "KRT_IMAGE_SCORING", "images.scoring"),
            image_kafka=_required(env, "KRT_IMAGE_KAFKA", "images.kafka"),
            image_pull_policy=env.get("KRT_IMAGE_PULL_POLICY") or "IfNotPresent",
            evidence_storage_class=env.get("KRT_EVIDENCE_STORAGE_CLASS") or "krt-evidence",
            max_concurrent_tests=_number(env, "KRT_MAX_CONCURRENT_TESTS", 8),
            watch_namespaces=tuple(
                namespace.strip() for namespace in namespaces if namespace.strip()
            ),
            metrics_port=_number(env, "KRT_METRICS_PORT", 0),
        )


def _required(env: Mapping[str, str], name: str, value: str) -> str:
    found = env.get(name, "").strip()
    if not found:
        raise UserError("NotConfigured", name, f"is not set; set the chart's value {value}")
    return found


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise UserError("NotConfigured", name, f"is {text!r}, not a whole number")
    return int(text)
