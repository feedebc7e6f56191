"""The plan of a generated history, as the controller would write it."""

from __future__ import annotations

from typing import Any

from bench.scoring.history import (
    CONSUMERS,
    LENGTH,
    PARTITIONS,
    PLAIN,
    PRODUCERS,
    RUN_UID,
    TXN,
    WRITERS,
)


def plan() -> dict[str, Any]:
    """Return the run's plan."""
    return {
        "schemaVersion": 2,
        "run": {"namespace": "bench", "name": "history", "uid": RUN_UID, "seed": 1},
        "spec": {
            "traffic": {
                "producers": [
                    _producer("p", PLAIN, PRODUCERS),
                    {
                        **_producer("t", TXN, WRITERS),
                        "transactional": {"recordsPerTransaction": LENGTH},
                    },
                ],
                "consumers": [_consumer("c", PLAIN, "g", CONSUMERS), _consumer("d", TXN, "h", 1)],
            },
            "faults": [
                {"name": name, "action": "CrashPod"} for name in ("leader-down", "consumer-down")
            ],
        },
        "topics": [
            {"name": name, "partitions": PARTITIONS, "replicationFactor": 3}
            for name in (PLAIN, TXN)
        ],
        "brokerConfig": {"min.insync.replicas": "2"},
    }


def _producer(name: str, topic: str, replicas: int) -> dict[str, Any]:
    shared = {"acks": "all", "enableIdempotence": True}
    return {"name": name, "topic": topic, "replicas": replicas, **shared}


def _consumer(name: str, topic: str, group: str, replicas: int) -> dict[str, Any]:
    shared = {"isolation": "read_committed", "commit": "AfterProcessing"}
    return {"name": name, "topics": [topic], "group": group, "replicas": replicas, **shared}
