"""A plan as the controller writes it, for tests."""

from __future__ import annotations

from typing import Any


def document(**changes: Any) -> dict[str, Any]:
    """Return plan.json with top-level fields replaced."""
    return {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "u", "seed": 42},
        "bundle": "ns/t/u",
        "bootstrap": "k0:9092,k1:9092",
        "zookeeper": "z0:2181,z1:2181",
        "members": [
            member("kafka-0", "kafka", 0, "k0"),
            member("kafka-1", "kafka", 1, "k1"),
            member("zk-0", "zookeeper", 0, "z0"),
            member("zk-1", "zookeeper", 1, "z1"),
        ],
        "topics": [
            {
                "name": "foo",
                "partitions": 3,
                "replicationFactor": 2,
                "config": {"min.insync.replicas": 2},
                "assignment": {"0": [0, 1], "1": [1, 0], "2": [0, 1]},
            },
            {"name": "bar", "partitions": 2, "replicationFactor": 1},
        ],
        "brokerConfig": {"unclean.leader.election.enable": "true"},
        "zookeeperConfig": {"tickTime": "2000"},
        "images": {"kafka": "kafka:1"},
        "versions": {"kafka": "3.9"},
        "spec": spec(),
    } | changes


def member(name: str, kind: str, ordinal: int, host: str) -> dict[str, Any]:
    return {
        "member": name,
        "kind": kind,
        "ordinal": ordinal,
        "zone": "zone-a",
        "pod": f"t-{name}-0",
        "host": host,
    }


def spec(**changes: Any) -> dict[str, Any]:
    """Return the resolved spec with fields replaced."""
    return {
        "traffic": {
            "producers": [
                {
                    "name": "main",
                    "topic": "foo",
                    "replicas": 2,
                    "acks": "all",
                    "recordsPerSecond": 500,
                    "valueBytes": 200,
                    "keyCount": 5,
                    "config": {"linger.ms": 7},
                }
            ],
            "consumers": [
                {
                    "name": "make",
                    "topics": ["foo"],
                    "group": "g",
                    "commit": "Transactional",
                    "output": {
                        "topic": "bar",
                        "recordsPerTransaction": 50,
                        "abortPermille": 100,
                        "valueBytes": 300,
                        "config": {"transaction.timeout.ms": 9000},
                    },
                }
            ],
        },
        "faults": [
            {
                "name": "leader-down",
                "action": "CrashPod",
                "duration": "20s",
                "adminRequests": ["CreateTopic"],
            }
        ],
        "timeouts": {"drain": "2m"},
        "warmup": "15s",
        "evidence": {"compareReplicas": True},
        "scoring": {"selfTest": True},
    } | changes
