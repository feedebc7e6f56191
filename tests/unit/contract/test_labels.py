from __future__ import annotations

from krt_contract.labels import (
    LABEL_COMPONENT,
    LABEL_MEMBER,
    LABEL_TEST_UID,
    Component,
    object_labels,
    owner_reference,
)


def test_object_labels_name_test_component_and_member() -> None:
    labels = object_labels("t", "u", Component.SCORING, "scoring")
    assert labels == {
        "app.kubernetes.io/name": "kafka-resilience",
        "app.kubernetes.io/instance": "t",
        "app.kubernetes.io/component": "scoring",
        "app.kubernetes.io/part-of": "kafka-resilience",
        "app.kubernetes.io/managed-by": "krt-operator",
        "kafkaresilience.dev/test": "t",
        "kafkaresilience.dev/test-uid": "u",
        "kafkaresilience.dev/member": "scoring",
    }
    # YAML writes plain texts alone.
    assert {type(value) for value in labels.values()} == {str}


def test_object_labels_without_member_have_no_member_label() -> None:
    labels = object_labels("t", "u", Component.PLAN)
    assert LABEL_MEMBER not in labels
    assert (labels[LABEL_COMPONENT], labels[LABEL_TEST_UID]) == ("plan", "u")


def test_owner_reference_names_the_test_and_blocks_its_deletion_unless_told_not_to() -> None:
    owner = {
        "apiVersion": "kafkaresilience.dev/v1alpha1",
        "kind": "KafkaResilienceTest",
        "name": "t",
        "uid": "u",
        "controller": True,
    }
    assert owner_reference("t", "u") == owner | {"blockOwnerDeletion": True}
    assert owner_reference("t", "u", blocks_deletion=False) == owner
