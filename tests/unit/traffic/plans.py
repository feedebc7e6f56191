"""A plan of one producer and one consumer, as the controller would write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_traffic.plan import load

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.plan import Plan


def document(**producer: Any) -> dict[str, Any]:
    entry = {
        "name": "main",
        "topic": "foo",
        "acks": "all",
        "recordsPerSecond": 500,
        "valueBytes": 200,
        "keyCount": 5,
        "config": {"linger.ms": "7"},
    }
    return {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "u", "seed": 42},
        "bundle": "ns/t/u",
        "bootstrap": "b:9092",
        "zookeeper": "z0:2181,z1:2181",
        "members": [
            {"member": "kafka-0", "kind": "kafka", "ordinal": 0},
            {"member": "zk-0", "kind": "zookeeper", "ordinal": 0},
            {"member": "zk-1", "kind": "zookeeper", "ordinal": 1},
        ],
        "topics": [{"name": "foo", "partitions": 3, "replicationFactor": 3}],
        "spec": {
            "timeouts": {"drain": "2m"},
            "traffic": {
                "producers": [entry | producer],
                "consumers": [
                    {
                        "name": "read",
                        "topics": ["foo"],
                        "group": "g",
                        "commit": "Auto",
                        "isolation": "read_committed",
                    }
                ],
            },
        },
    }


def load_plan(folder: Path, **producer: Any) -> Plan:
    path = folder / "plan.json"
    path.write_text(json.dumps(document(**producer)))
    return load(path)
