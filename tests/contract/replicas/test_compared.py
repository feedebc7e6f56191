"""The replicas of real brokers compared: equal as they are, but not after a disk changed a byte."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.contract.replicas.conftest import PARTITIONS, TOPIC, Dump, dump

from krt_contract.bundle import Bundle, write_json
from krt_contract.ledger import LedgerWriter

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.replicas.conftest import Brokers

JUDGE = """
import json, pathlib, sys
from krt_scoring.engine import session
from krt_scoring.history import tables
from krt_scoring.inputs import run_info
from krt_scoring.anomalies.detection import detect
root = pathlib.Path(sys.argv[1])
run = run_info.load(root / "run.json")
found = detect(tables.read(session.local(rows=100, cores=2), root, run))
apart = found.anomaly("replica-divergence")
print(json.dumps({"detail": apart.detail, "offsets": [one["offset"] for one in apart.examples]}))
"""

RUN: dict[str, Any] = {
    "schemaVersion": 2,
    "run": {"namespace": "ns", "name": "t", "uid": "run", "seed": 1},
    "topics": [{"name": TOPIC, "partitions": PARTITIONS, "replicationFactor": 2, "config": {}}],
    "spec": {"evidence": {"compareReplicas": True}},
}


def compared(brokers: Brokers, root: Path) -> dict[str, Any]:
    """Bound the log as the controller does, and judge the replicas below ``root``."""
    bundle = Bundle(root / "ns" / "t" / "run")
    write_json(bundle.run_json, RUN)
    columns: dict[str, list[Any]] = {
        "topic": [TOPIC] * PARTITIONS,
        "partition": list(range(PARTITIONS)),
        "high_watermark": [brokers.end(number) for number in range(PARTITIONS)],
        "isr": [[0, 1]] * PARTITIONS,
        "settled": [True] * PARTITIONS,
    }
    zeros = ("taken_at", "log_start", "leader", "leader_epoch", "read_from", "rows_read")
    ends = columns["high_watermark"]
    rest = {**dict.fromkeys(zeros, [0] * PARTITIONS), "last_stable": ends, "read_to": ends}
    LedgerWriter(bundle.table("log_end_offsets"), "log_end_offsets", "scoring").write(
        columns | rest
    )
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(bundle.root)], check=True, stdout=subprocess.PIPE
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_compare_of_the_replicas_of_a_correct_kafka_finds_nothing(
    brokers: Brokers, dumps: tuple[Dump, Dump], tmp_path: Path
) -> None:
    shutil.copytree(dumps[0].root, tmp_path / "evidence")
    assert compared(brokers, tmp_path / "evidence") == {"detail": {}, "offsets": []}


def test_compare_after_a_byte_changed_on_one_disk_finds_it(
    brokers: Brokers, dumps: tuple[Dump, Dump], tmp_path: Path
) -> None:
    root, disk = tmp_path / "evidence", tmp_path / "kafka"
    shutil.copytree(dumps[0].root, root)
    shutil.copytree(brokers.log_dirs(1), disk)
    newest = max((disk / f"{TOPIC}-1").glob("*.log"), key=lambda path: path.name)
    data = bytearray(newest.read_bytes())
    # Of the newest batch, whose header stays as it is.
    data[-1] ^= 0xFF
    newest.write_bytes(data)
    dump(tmp_path / "work", brokers.brokers[1].libs, disk, 1, root)
    last = max(row["batch"] for row in dumps[0].rows(1))
    end = brokers.end(1)
    offsets = list(range(last, end))
    assert compared(brokers, root) == {"detail": {"damaged": len(offsets)}, "offsets": offsets}
