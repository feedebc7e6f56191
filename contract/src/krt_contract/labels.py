"""How the resource and every Kubernetes object of a run are named and labelled."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

GROUP: Final = "kafkaresilience.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "KafkaResilienceTest"
PLURAL: Final = "kafkaresiliencetests"

PRODUCT: Final = "kafka-resilience"
"""Value of the labels ``app.kubernetes.io/name`` and ``app.kubernetes.io/part-of``."""

LABEL_TEST: Final = f"{GROUP}/test"
"""Label: name of the test that owns the object."""
LABEL_TEST_UID: Final = f"{GROUP}/test-uid"
"""Label: uid of the test; a selector by uid keeps an earlier test of the same name out."""
LABEL_MEMBER: Final = f"{GROUP}/member"
"""Label: the member the object belongs to, such as ``kafka-0`` or ``producer-main-0``."""
LABEL_COMPONENT: Final = "app.kubernetes.io/component"
"""Label: one of `Component`."""

ANNOTATION_APPLIED: Final = f"{GROUP}/applied"
"""Annotation: hash of what was applied, so that an unchanged object is not applied again."""
ANNOTATION_RESTARTS: Final = f"{GROUP}/restarts"
"""Annotation of a traffic pod: how many restarts in succession it is; absent: none."""
ANNOTATION_TOPICS_READ: Final = f"{GROUP}/topics-read"
"""Annotation of the scoring driver's pod, "true" once what the brokers hold is in the evidence."""
ANNOTATION_MOUNT_RETRIED: Final = f"{GROUP}/mount-retried-at"
"""Annotation of a pod whose kubelet was made to mount its volumes again: when, UTC."""


class Component(StrEnum):
    """Which part of a run an object belongs to."""

    KAFKA = "kafka"
    ZOOKEEPER = "zookeeper"
    CONTROLLER = "controller"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    RECORDER = "recorder"
    SCORING = "scoring"
    PREFLIGHT = "preflight"
    TOOL = "tool"
    """The Jobs that run Kafka's own tools or dump replicas."""
    PLAN = "plan"
    """The ConfigMaps of the run: plan, control and scripts."""
    EVIDENCE = "evidence"
    """The claim of the evidence volume."""
    NETWORK = "network"
    """The NetworkPolicies of the run."""


MEMBERS: Final = (Component.KAFKA, Component.ZOOKEEPER, Component.CONTROLLER)
"""The components of the cluster under test."""


class FieldManager(StrEnum):
    """Who owns a field by server-side apply."""

    CONTROLLER = "krt-operator"
    SCORING = "krt-scoring"


def object_labels(test: str, uid: str, component: str, member: str = "") -> dict[str, str]:
    """Return the labels of an object of the run.

    Args:
        test: name of the test.
        uid: its uid.
        component: one of `Component`.
        member: the member it belongs to; empty leaves the label out.
    """
    found = {
        "app.kubernetes.io/name": PRODUCT,
        "app.kubernetes.io/instance": test,
        LABEL_COMPONENT: str(component),
        "app.kubernetes.io/part-of": PRODUCT,
        "app.kubernetes.io/managed-by": str(FieldManager.CONTROLLER),
        LABEL_TEST: test,
        LABEL_TEST_UID: uid,
    }
    return found | {LABEL_MEMBER: str(member)} if member else found


def owner_reference(test: str, uid: str, *, blocks_deletion: bool = True) -> dict[str, Any]:
    """Return the owner of every object of a run: deleting the test deletes them all.

    Args:
        test: name of the test.
        uid: its uid.
        blocks_deletion: whether a foreground deletion of the test waits for the object. OpenShift
            refuses that to an account without rights on the test's finalizers.
    """
    owner = {"apiVersion": API_VERSION, "kind": KIND, "name": test, "uid": uid, "controller": True}
    return owner | {"blockOwnerDeletion": True} if blocks_deletion else owner
