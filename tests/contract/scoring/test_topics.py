"""The topics of a real broker, read by Spark's own Kafka connector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from krt_contract.payload import Encoder
from krt_contract.schemas import LOG
from krt_scoring.inputs import topics

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
topics.FEW_RECORDS = int(sys.argv[4])
spark = session.local(rows=100, cores=2)
parsed = topics.parse_bounds(bounds.read_text())
topics.read(spark, run_info.load(plan), parsed, FolderLog(Bundle(root)))
"""

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
    plain.produce("foo", b"not ours", partition=0)
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


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("few", [0, topics.FEW_RECORDS], ids=["by executors", "by the driver"])
def test_topics_are_read_between_their_bounds(
    kafka: LocalKafka, connector: str, tmp_path: Path, few: int
) -> None:
    plan, bounds, root = tmp_path / "plan.json", tmp_path / "bounds", tmp_path / "bundle"
    root.mkdir()
    plan.write_text(json.dumps({**PLAN, "bootstrap": kafka.bootstrap}))
    # Partition 1 holds two records and two transaction markers.
    bounds.write_text(json.dumps([_bound(0, 7), _bound(1, 4)]))
    subprocess.run(
        [sys.executable, "-c", READ, str(plan), str(bounds), str(root), str(few)],
        check=True,
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": f"--jars {connector} pyspark-shell"},
    )
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
    assert all(row["timestamp"] > 1_700_000_000_000_000 for row in rows)
    first = pq.read_metadata(next((root / "log").iterdir())).row_group(0)
    assert first.column(LOG.names.index("offset")).encodings == ("DELTA_BINARY_PACKED",)
    counted = pq.read_table(root / "log_end_offsets").to_pylist()
    assert [(row["read_to"], row["rows_read"]) for row in counted] == [(7, 7), (4, 2)]
    assert oct((root / "log").stat().st_mode)[-4:] == "2775"
