"""The topics of a real broker that wants TLS and a password or a certificate, read
by the driver's client and by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from tests.certificates import certificate
from tests.contract.scoring import test_topics
from tests.contract.scoring.test_topics import PLAN, read
from tests.contract.traffic.local_secure import BETWEEN, PASSWORD, USER, login, security

from krt_contract.payload import Encoder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.local_secure import SecureKafka

RECORDS = 5
WAYS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "scram": ("SCRAM", security(), {"user": USER, "password": PASSWORD}),
    "certificate": (
        "MUTUAL",
        security(user=False, client=True),
        {"client": certificate("krt-client", BETWEEN)},
    ),
}
"""Where to read, what the plan says, and what is mounted."""


@pytest.mark.parametrize("reader", test_topics.WAYS)
@pytest.mark.parametrize("way", WAYS)
def test_topics_of_a_secured_cluster_are_read_and_no_password_is_printed(
    secure: SecureKafka, connector: str, tmp_path: Path, way: str, reader: str
) -> None:
    topic = f"krt-{way}-{reader}"
    secure.create_topic(topic, 1)
    writer = Producer({"bootstrap.servers": secure.address("PLAINTEXT")})
    encoder = Encoder("run", "plain-0", "uid-p", 150)
    for seq in range(RECORDS):
        writer.produce(topic, encoder.encode(seq), key=b"k")
    assert writer.flush(30) == 0
    listener, said, mounted = WAYS[way]
    login(tmp_path / "secrets", **mounted)
    producers = [{"name": "plain", "topic": topic, "replicas": 1}]
    document = {
        **PLAN,
        "bootstrap": secure.address(listener),
        "topics": [{**PLAN["topics"][0], "name": topic, "partitions": 1}],
        "spec": {
            "kafkaRef": {"prefix": "krt-", "security": said},
            "traffic": {"producers": producers, "consumers": []},
        },
    }
    bound = {
        "topic": topic,
        "partition": 0,
        "takenAt": 1,
        "logStart": 0,
        "highWatermark": RECORDS,
        "lastStable": RECORDS,
        "leader": 1,
        "leaderEpoch": 0,
        "isr": [1],
        "settled": True,
    }
    root = tmp_path / "bundle"
    secrets = str(tmp_path / "secrets")
    done = read(document, connector, root, reader, [bound], KRT_KAFKA_SECRETS=secrets)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pq.read_table(root / "log").to_pylist()
    assert sorted(row["seq"] for row in rows) == list(range(RECORDS))
    assert PASSWORD not in done.stdout + done.stderr
