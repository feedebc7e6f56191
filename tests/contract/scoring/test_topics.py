"""The topics of a real broker, read by the driver's client and by Spark's own Kafka connector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer, TopicPartition

from krt_contract.payload import Encoder
from krt_contract.schemas import LOG

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.local_kafka import LocalKafka

READ = """
import pathlib, sys
from krt_contract.bundle import Bundle
from krt_scoring.engine import session
from krt_scoring.inputs import run_info, topics
from krt_scoring.inputs.log_places import FolderLog
plan, bounds, root = map(pathlib.Path, sys.argv[1:4])
run, place = run_info.load(plan), FolderLog(Bundle(root))
parsed = topics.parse_bounds(bounds.read_text())
if sys.argv[4] == "client":
    topics.read_few(run, parsed, place)
else:
    topics.read(session.local(rows=100, cores=2), run, parsed, place)
"""
WAYS = ("client", "spark")
"""By the driver's own client, where records are few, or by Spark's connector."""

PLAN: dict[str, Any] = {
    "schemaVersion": 2,
    "run": {"namespace": "ns", "name": "t", "uid": "run", "seed": 1},
    "topics": [{"name": "foo", "partitions": 2, "replicationFactor": 1, "config": {}}],
    "spec": {
        "traffic": {
            "producers": [
                {"name": "plain", "topic": "foo", "replicas": 1},
                {
                    "name": "tx",
                    "topic": "foo",
                    "replicas": 1,
                    "transactional": {"recordsPerTransaction": 1},
                },
            ],
            "consumers": [],
        }
    },
}


@pytest.fixture(scope="module")
def sent(kafka: LocalKafka) -> None:
    """Partition 0: plain 0..4, a foreign record; partition 1: one aborted, one committed."""
    kafka.create_topic("foo", 2)
    encoder = Encoder("run", "plain-0", "uid-p", 150)
    plain = Producer({"bootstrap.servers": kafka.bootstrap})
    for seq in range(5):
        plain.produce("foo", encoder.encode(seq), key=b"k", partition=0)
    plain.produce("foo", b"not ours", key=b"\xff\xe4k", partition=0)
    damaged = encoder.encode(5).replace(b"xx", b"xy", 1)
    plain.produce("foo", damaged, key=b"k", partition=0)
    assert plain.flush(30) == 0
    writer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "tx-0"})
    writer.init_transactions(30)
    tx = Encoder("run", "tx-0", "uid-t", 150)
    for seq, finish in enumerate((writer.abort_transaction, writer.commit_transaction)):
        writer.begin_transaction()
        writer.produce("foo", tx.encode(seq), key=b"t", partition=1)
        assert writer.flush(30) == 0
        finish(30)


def plan_of(kafka: LocalKafka) -> dict[str, Any]:
    return {**PLAN, "bootstrap": kafka.bootstrap}


def _bound(partition: int, end: int) -> dict[str, Any]:
    return {
        "topic": "foo",
        "partition": partition,
        "takenAt": 1,
        "logStart": 0,
        "highWatermark": end,
        "lastStable": end,
        "leader": 0,
        "leaderEpoch": 0,
        "isr": [0],
        "settled": True,
    }


def read(
    plan: dict[str, Any],
    connector: str,
    root: Path,
    way: str,
    bounds: list[dict[str, Any]],
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Read topics into the bundle at ``root`` in a process of its own."""
    root.mkdir()
    files = {"plan.json": plan, "bounds": bounds}
    for name, document in files.items():
        root.with_name(name).write_text(json.dumps(document))
    paths = [str(root.with_name(name)) for name in files]
    return subprocess.run(
        [sys.executable, "-c", READ, *paths, str(root), way],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYSPARK_SUBMIT_ARGS": f"--jars {connector} pyspark-shell",
            **variables,
        },
    )


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("way", WAYS)
def test_topics_are_read_between_their_bounds(
    kafka: LocalKafka, connector: str, tmp_path: Path, way: str
) -> None:
    root = tmp_path / "bundle"
    # Partition 1 holds two records and two transaction markers.
    done = read(plan_of(kafka), connector, root, way, [_bound(0, 7), _bound(1, 4)])
    assert done.returncode == 0, done.stderr
    table = pq.read_table(root / "log")
    assert table.schema.names == LOG.names
    rows = sorted(table.to_pylist(), key=lambda row: (row["partition"], row["offset"]))
    messages = [
        (row["partition"], row["offset"], row["producer"], row["seq"], row["checksum_ok"])
        for row in rows
    ]
    assert messages == [
        *((0, seq, "plain-0", seq, True) for seq in range(5)),
        (0, 5, None, None, False),
        (0, 6, "plain-0", 5, False),
        (1, 0, "tx-0", 0, True),
        (1, 2, "tx-0", 1, True),
    ]
    assert [row["state"] for row in rows] == ["plain"] * 7 + ["aborted", "committed"]
    assert {row["key"] for row in rows if row["partition"] == 1} == {"t"}
    assert rows[5]["key"] == "\ufffd\ufffdk", "bytes that are no text"
    assert all(row["timestamp"] > 1_700_000_000_000_000 for row in rows)
    first = pq.read_metadata(next((root / "log").iterdir())).row_group(0)
    encodings = set(first.column(LOG.names.index("offset")).encodings)
    assert encodings - {"RLE"} == {"DELTA_BINARY_PACKED"}, "RLE: which values are there"
    counted = pq.read_table(root / "log_end_offsets").to_pylist()
    assert [(row["read_to"], row["rows_read"]) for row in counted] == [(7, 7), (4, 2)]
    assert oct((root / "log").stat().st_mode)[-4:] == "2775"


@pytest.mark.parametrize("way", WAYS)
def test_transaction_that_nobody_ended_is_open(
    kafka: LocalKafka, connector: str, tmp_path: Path, way: str
) -> None:
    topic = f"open-{way}"
    kafka.create_topic(topic, 1)
    writer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    writer.init_transactions(30)
    tx = Encoder("run", "tx-0", "uid-t", 150)
    for seq, end in enumerate((writer.commit_transaction, None)):
        writer.begin_transaction()
        writer.produce(topic, tx.encode(seq))
        assert writer.flush(30) == 0
        if end is not None:
            end(30)
    # A record, its marker, and a record without one.
    bound = {**_bound(0, 3), "topic": topic, "lastStable": 2}
    done = read(plan_of(kafka), connector, tmp_path / "bundle", way, [bound])
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "bundle/log").to_pylist()
    states = sorted((row["offset"], row["state"]) for row in rows)
    assert states == [(0, "committed"), (2, "open")]
    writer.abort_transaction(30)


@pytest.mark.parametrize("way", WAYS)
def test_records_that_are_gone_fail_instead_of_shrinking_the_evidence(
    kafka: LocalKafka, connector: str, tmp_path: Path, way: str
) -> None:
    topic = f"cut-{way}"
    kafka.create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for seq in range(3):
        producer.produce(topic, Encoder("run", "plain-0", "uid-p", 150).encode(seq))
    assert producer.flush(30) == 0
    admin = kafka.admin()  # kept: the client ends with its last reference
    (cut,) = admin.delete_records([TopicPartition(topic, 0, 1)]).values()
    cut.result(30)
    bound = {**_bound(0, 3), "topic": topic}
    done = read(plan_of(kafka), connector, tmp_path / "bundle", way, [bound])
    assert done.returncode != 0
    assert not (tmp_path / "bundle/log_end_offsets").exists()
    if way == "client":
        assert f"partition {topic}-0 no longer holds the records of the run" in done.stderr
