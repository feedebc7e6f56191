from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from krt_operator.api import KafkaResilienceTest, Spec
from krt_operator.api.spec import Acks, Duration

ROOT = Path(__file__).parents[4]


def least(**fields: Any) -> dict[str, Any]:
    return {
        "topics": [{"name": "foo", "replicationFactor": 3}],
        "traffic": {
            "producers": [{"name": "p", "topic": "foo"}],
            "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
        },
        **fields,
    }


def fault(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "action": "CrashPod", "target": {"role": "Controller"}, **fields}


def test_sample_has_the_documented_spec() -> None:
    body = yaml.safe_load((ROOT / "manifests/sample.yaml").read_text())
    spec = Spec.model_validate(body["spec"]).resolve()
    assert (spec.kafka.replicas, spec.ensemble.replicas) == (3, 3)
    assert spec.kafka.config == {
        "zookeeper.session.timeout.ms": "6000",
        "offsets.topic.num.partitions": "10",
        "group.initial.rebalance.delay.ms": "0",
    }
    (topic,) = spec.topics
    assert (topic.partitions, topic.replication_factor) == (3, 3)
    assert topic.config == {"min.insync.replicas": "2"}
    assert [
        (p.acks, p.enable_idempotence, p.records_per_second) for p in spec.traffic.producers
    ] == [(Acks.ALL, True, 500), (Acks.ALL, False, 500)]
    assert [c.replicas for c in spec.traffic.consumers] == [2]
    (leader_down,) = spec.faults
    assert leader_down.duration == Duration.parse("20s")


@pytest.mark.parametrize(
    ("acks", "given", "resolved"),
    [
        ("all", None, True),
        (1, None, False),
        (0, None, False),
        ("all", False, False),
        ("all", True, True),
    ],
)
def test_resolve_without_idempotence_follows_acks(acks: Any, given: Any, resolved: bool) -> None:
    body = least()
    body["traffic"]["producers"][0] |= {"acks": acks, "enableIdempotence": given}
    (producer,) = Spec.model_validate(body).resolve().traffic.producers
    assert producer.enable_idempotence is resolved


def test_resolve_without_starts_after_names_the_previous_fault() -> None:
    body = least(
        faults=[
            fault("a"),
            fault("b", startsAfter={"event": "Started"}),
            fault("c", startsAfter={"fault": "a"}),
            fault("d"),
        ]
    )
    resolved = Spec.model_validate(body).resolve()
    assert [f.starts_after.fault for f in resolved.faults] == [None, "a", "a", "c"]
    assert [f.starts_after.event for f in resolved.faults] == [
        *("Recovered", "Started", "Recovered", "Recovered")
    ]
    assert resolved.resolve() == resolved


def test_spec_dumped_reads_back_equal() -> None:
    spec = Spec.model_validate(least(faults=[fault("a", duration="1m30s")])).resolve()
    dumped = spec.dump()
    assert dumped["faults"][0]["duration"] == "1m30s"
    assert dumped["traffic"]["producers"][0]["acks"] == "all"
    assert Spec.model_validate(dumped) == spec


def test_spec_with_unknown_field_names_it() -> None:
    with pytest.raises(ValidationError, match="warmUp"):
        Spec.model_validate(least(warmUp="5s"))


def test_resource_parse_reads_an_object_of_the_api_server() -> None:
    test = KafkaResilienceTest.parse(
        {
            "apiVersion": "kafkaresilience.dev/v1alpha1",
            "kind": "KafkaResilienceTest",
            "metadata": {
                "name": "t",
                "namespace": "n",
                "uid": "u",
                "resourceVersion": "7",
                "generation": 2,
                "managedFields": [],
            },
            "spec": least(),
        }
    )
    assert (test.metadata.resource_version, test.metadata.generation) == ("7", 2)
    assert test.status.phase is None


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("downFor", "20s", "duration"),
        ("to", [0], "targetReplicas"),
        ("probes", [], "adminRequests"),
    ],
)
def test_spec_with_old_fault_field_names_the_new_one(old: str, value: Any, new: str) -> None:
    with pytest.raises(ValidationError, match=f"{old} is now {new}"):
        Spec.model_validate(least(faults=[fault("a", **{old: value})]))
