"""Two real brokers with a history, and their replicas dumped as the Job's two containers do it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic

# The local broker is imported by its path in the repository, as mypy knows it.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.contract.traffic.local_kafka import LocalKafka, lent, wait_until

from krt_contract.payload import Encoder, decode
from krt_operator.build.render import script

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITIONS = 2
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SEGMENT_BYTES = 4096
TOPIC = "foo.bar"
"""With a dot, which means something to patterns."""

NAMESAKE = f"{TOPIC}-0"
"""A topic whose folders begin like those of TOPIC's first partition."""

PLAN: dict[str, Any] = {
    "schemaVersion": 2,
    "run": {"namespace": "ns", "name": "t", "uid": "run", "seed": 1},
    "bundle": "ns/t/run",
    "bootstrap": "",
    "zookeeper": "",
    "members": [],
    "topics": [{"name": TOPIC, "partitions": PARTITIONS, "replicationFactor": 1}],
    "spec": {"timeouts": {"drain": "1m"}, "traffic": {"producers": [], "consumers": []}},
}


@dataclass
class Dump:
    """What the dump of one broker left."""

    root: Path
    code: int
    message: dict[str, Any]

    def table(self, name: str) -> list[dict[str, Any]]:
        folder = self.root / "ns" / "t" / "run" / name
        rows: list[dict[str, Any]] = pq.read_table(folder).to_pylist() if folder.is_dir() else []
        return rows

    def bounds(self, partition: int) -> dict[str, Any]:
        (found,) = [row for row in self.table("replica_bounds") if row["partition"] == partition]
        return found

    def rows(self, partition: int) -> list[dict[str, Any]]:
        mine = [row for row in self.table("replica_log") if row["partition"] == partition]
        return sorted(mine, key=lambda row: int(row["offset"]))


def dump(work: Path, libs: Path, log_dirs: Path, broker: int, root: Path | None = None) -> Dump:
    """Run both ends of the pipe and return what they left below ``root``."""
    work.mkdir(parents=True, exist_ok=True)
    root = root or work / "evidence"
    pipe, message, plan = work / "pipe", work / "message", work / "plan.json"
    plan.write_text(json.dumps(PLAN))
    variables = {
        "KRT_PLAN": plan,
        "KRT_EVIDENCE": root,
        "KRT_PIPE": pipe,
        "KRT_TERMINATION_LOG": message,
        "KRT_NAME": "kafka",
        "KRT_REPLICA": broker,
        **dict.fromkeys(("KRT_CONTROL", "KRT_NAMESPACE", "KRT_TEST", "KRT_TEST_UID"), "x"),
        **dict.fromkeys(("KRT_POD", "KRT_POD_UID"), "x"),
    }
    text = (
        script("dump.sh")
        .replace("/opt/kafka/libs", str(libs))
        .replace("/tmp/errors", str(work / "errors"))  # noqa: S108 - the pod's own
    )
    with subprocess.Popen(
        [sys.executable, "-m", "krt_traffic", "replicas"],
        env={**os.environ, **{key: str(value) for key, value in variables.items()}},
    ) as reader:
        written = subprocess.run(
            ["bash", "-c", text, "dump.sh", str(log_dirs), str(pipe), TOPIC],
            check=False,
            timeout=300,
            env={"PATH": "/usr/bin:/bin"},
        )
        assert written.returncode == 0
        code = reader.wait(60)
    return Dump(root, code, json.loads(message.read_text()))


@dataclass
class Brokers:
    """Two brokers that hold the same topic."""

    brokers: tuple[LocalKafka, LocalKafka]

    @property
    def bootstrap(self) -> str:
        return ",".join(one.bootstrap for one in self.brokers)

    def log_dirs(self, broker: int) -> Path:
        return self.brokers[broker].folder / "kafka"

    def partitions(self, broker: int) -> dict[int, Any]:
        topics = self.brokers[broker].admin().list_topics(TOPIC, timeout=10).topics
        return dict(topics[TOPIC].partitions)

    def create(self, *names: str) -> None:
        config = {"segment.bytes": str(SEGMENT_BYTES), "min.insync.replicas": "1"}
        assignment = [[number % 2, 1 - number % 2] for number in range(PARTITIONS)]
        topics = [
            NewTopic(name, num_partitions=PARTITIONS, replica_assignment=assignment, config=config)
            for name in names
        ]
        admin = self.brokers[0].admin()
        for future in admin.create_topics(topics).values():
            future.result(30)

    def fail_over(self) -> None:
        """Stop broker 0, so that broker 1 leads all; what is written meanwhile is 0's to fetch."""
        first = self.brokers[0]
        first.signal("broker", signal.SIGTERM)
        first.await_session_end()
        first.kill("broker")
        wait_until("broker 1 leads", lambda: {p.leader for p in self.partitions(1).values()} == {1})
        self.send("after", "lz4")
        first.start_broker()
        wait_until(
            "all replicas in sync",
            lambda: all(len(p.isrs) == 2 for p in self.partitions(1).values()),
        )

    def send(self, name: str, codec: str, count: int = 40) -> None:
        """Send batches of several records to both partitions."""
        settings = {"compression.type": codec, "linger.ms": 20, "batch.num.messages": 7}
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", **settings})
        encoder = Encoder("run", f"{name}-0", f"uid-{codec}", 150)
        for seq in range(count):
            producer.produce(TOPIC, encoder.encode(seq), key=b"k", partition=seq % PARTITIONS)
        assert producer.flush(60) == 0

    def transact(self) -> None:
        """One aborted transaction and one committed, in both partitions."""
        settings = {"transactional.id": "t", "compression.type": "zstd"}
        producer = Producer({"bootstrap.servers": self.bootstrap, **settings})
        producer.init_transactions(60)
        encoder = Encoder("run", "txn-0", "uid-txn", 150)
        for turn, finish in enumerate((producer.abort_transaction, producer.commit_transaction)):
            producer.begin_transaction()
            for seq in range(turn * 6, turn * 6 + 6):
                producer.produce(TOPIC, encoder.encode(seq), partition=seq % PARTITIONS)
            assert producer.flush(60) == 0
            finish(60)

    def send_strange(self) -> None:
        """Values and keys that are none of ours, of which one looks like the dump's own lines."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        inside = b"a\nbaseOffset: 3\n| offset: 3 CreateTime: 1\nDumping x\nkrt-done\n\n\xff\xfe"
        for key, value in ((None, inside), ("k\u00e4y".encode(), b"payload: krt1;"), (b"k", None)):
            producer.produce(TOPIC, value, key=key, partition=0)
        damaged = Encoder("run", "plain-0", "uid", 150).encode(0).replace(b"xx", b"xy", 1)
        producer.produce(TOPIC, damaged, partition=0)
        assert producer.flush(60) == 0

    def read(self, partition: int) -> dict[int, tuple[str, str, int] | None]:
        """Return offset → identity of every record a read_uncommitted consumer is given."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "none",
                "isolation.level": "read_uncommitted",
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(TOPIC, partition, 0)])
        found: dict[int, tuple[str, str, int] | None] = {}
        while True:
            message = consumer.poll(60)
            assert message is not None
            if message.error() is not None:
                break
            payload = decode(message.value())
            intact = payload is not None and payload.checksum_ok
            offset = message.offset()
            assert offset is not None
            found[offset] = (
                (payload.producer, payload.producer_incarnation, payload.seq)
                if payload and intact
                else None
            )
        consumer.close()
        return found

    def end(self, partition: int) -> int:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "none"})
        bounds = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=30)
        consumer.close()
        assert bounds is not None
        return int(bounds[1])


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Every codec, transactions, strangers, an election, more than one segment."""
    # No session ends but by a shutdown in order: a busy machine must not end one.
    common = {"zookeeper.session.timeout.ms": "30000"}
    with (
        lent(tmp_path_factory.mktemp("zero"), {**common, "broker.id": "0"}) as first,
        lent(tmp_path_factory.mktemp("one"), {**common, "broker.id": "1"}) as second,
    ):
        first.start()
        second.zookeeper_port = first.zookeeper_port
        second.prepare()
        second.start_broker()
        both = Brokers((first, second))
        both.create(TOPIC, NAMESAKE)
        for codec in CODECS:
            both.send("plain", codec)
        both.transact()
        both.send_strange()
        both.fail_over()
        yield both


@pytest.fixture(scope="session")
def dumps(brokers: Brokers, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dump, Dump]:
    """Both brokers' replicas, dumped while they run into one bundle, as in a run."""
    work = tmp_path_factory.mktemp("dumps")
    libs, root = brokers.brokers[0].libs, work / "evidence"
    zero, one = (
        dump(work / str(broker), libs, brokers.log_dirs(broker), broker, root)
        for broker in range(2)
    )
    return zero, one
