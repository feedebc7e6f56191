"""The metadata log as the recorder follows it, against the copy that a broker holds."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import ElectionType
from kafka.protocol.admin.topics import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_kraft import BROKERS, CLUSTER_ID, NEWEST, OLDEST, LocalKraft, lent

from krt_contract.kafka_connector import connector
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.metadata_log.files import read_log
from krt_contract.metadata_log.fold import Fold, events_of
from krt_contract.metadata_log.record import LogRecord
from krt_traffic.recorder import CLIENT_ID
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.metadata_log.follower import Follower
from krt_traffic.recorder.metadata_log.quorum import QuorumWatch, describe_quorum
from krt_traffic.recorder.metadata_log.store import LogStore
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONNECT = connector(PLAINTEXT, CLIENT_ID)


def fail() -> None:
    raise AssertionError("a thread of the recorder failed; its traceback is in the log")


@pytest.fixture(scope="module", params=[OLDEST, NEWEST])
def kraft(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalKraft]:
    with lent(tmp_path_factory.mktemp("kraft"), request.param) as local:
        yield local


class Recorder:
    """The recorder's part that follows the log, writing into a bundle."""

    def __init__(self, kraft: LocalKraft, bundle: Path, incarnation: str) -> None:
        self.failures = Failures(fail)
        self.timeline = Timeline(bundle / "timeline", incarnation)
        store = LogStore(bundle / "metadata_log", incarnation)
        self.follower = Follower(
            kraft.controllers,
            CLUSTER_ID,
            store,
            self.timeline,
            failures=self.failures,
            features=lambda _levels: None,
            connect=CONNECT,
        )
        self.quorum = QuorumWatch(
            kraft.brokers, self.follower.silence, self.timeline, self.failures, CONNECT
        )

    def start(self) -> Recorder:
        self.follower.start()
        self.quorum.start()
        return self

    def stop(self) -> None:
        self.quorum.stop()
        self.follower.stop()
        self.timeline.close()
        self.failures.check()


def told(bundle: Path) -> list[tuple[str, str, str, int]]:
    """Return (source, event, subject, offset) of every event of the timeline, by offset."""
    found = [
        json.loads(line)
        for path in sorted((bundle / "timeline").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return sorted(
        (item["source"], item["event"], item["subject"], item["detail"].get("offset", -1))
        for item in found
    )


def seen(bundle: Path, event: str, subject: str | None = None) -> int:
    return sum(item[1] == event and subject in {None, item[2]} for item in told(bundle))


def in_sync(bundle: Path, broker: int) -> bool:
    """Return whether the records have the broker in the ISR of every partition."""
    states = folded(read_log(bundle / "metadata_log").records)
    return all(broker in state.isr for state in states.values())


def leads(bundle: Path, broker: int) -> bool:
    """Return whether the records have the broker lead a partition."""
    states = folded(read_log(bundle / "metadata_log").records)
    return any(broker == state.leader for state in states.values())


def leader(kraft: LocalKraft) -> int:
    found = describe_quorum(kraft.brokers[1], CONNECT)
    assert found is not None
    return found[0]


def test_metadata_log_followed_through_failures_is_the_brokers_own_log(
    kraft: LocalKraft, tmp_path: Path
) -> None:
    first = Recorder(kraft, tmp_path, "r1").start()  # before any controller is there, as in a run
    kraft.start()
    # Without the second replica a partition is below it, where Kafka 4.1 keeps an ELR.
    kraft.create_topic("foo", 4, **{"min.insync.replicas": "2"})
    wait_until("the topic is recorded", lambda: seen(tmp_path, "state", "foo-3"))

    kraft.kill(0)
    wait_until("the broker is fenced", lambda: seen(tmp_path, "fenced", "0"))
    first.stop()

    second = Recorder(kraft, tmp_path, "r2").start()
    before, elections = leader(kraft), seen(tmp_path, "elected")
    kraft.kill(before)
    wait_until("another controller leads", lambda: seen(tmp_path, "elected") > elections)
    assert leader(kraft) != before
    kraft.start_node(0)
    wait_until("the broker is back", lambda: seen(tmp_path, "unfenced", "0") >= 2)
    # A broker that leads nothing has nothing to hand over: it is fenced at once, and no record
    # says that it is shutting down.
    wait_until("it is in sync again", lambda: in_sync(tmp_path, 0))
    admin = kraft.admin()
    admin.elect_leaders(ElectionType.PREFERRED).result()
    wait_until("it leads a partition", lambda: leads(tmp_path, 0))
    kraft.end(0)
    wait_until("its shutdown is recorded", lambda: seen(tmp_path, "shutting-down", "0"))
    second.stop()

    stored = read_log(tmp_path / "metadata_log")
    assert (stored.first, stored.gaps(), stored.damages) == (0, (), ())
    assert len(list((tmp_path / "metadata_log").iterdir())) == 2
    own = {item["offset"]: item for item in kraft.dump(BROKERS[1])}
    records = [item for item in stored.records if item.type.endswith("_RECORD")]
    assert records
    for record in records:
        assert dumped_fields(record) == own[record.offset]["data"], record
        assert record.type == own[record.offset]["type"]
    assert folded(stored.records) == folded(from_dump(own, stored.records))
    states = {
        partition: (state.leader, state.leader_epoch, state.isr, state.elr)
        for partition, state in folded(stored.records).items()
        if partition.startswith("foo-")
    }
    assert known_to_broker(kraft, BROKERS[1], "foo") == states
    eligible = {elr for _, _, _, elr in states.values()}
    assert eligible == ({()} if kraft.version == OLDEST else {(0,)})
    # Each record is told once, though the second recorder read the first one's from the bundle.
    expected = sorted(
        (item.source, item.event, item.subject, item.detail["offset"])
        for item in events_of(stored.records)
    )
    assert [item for item in told(tmp_path) if item[0] != "recorder"] == expected


def test_metadata_log_without_a_quorum_records_its_loss_and_what_was_not_read(
    kraft: LocalKraft, tmp_path: Path
) -> None:
    """Runs after the test above, which leaves two controllers and a broker."""
    recorder = Recorder(kraft, tmp_path, "r1").start()
    wait_until("a leader is recorded", lambda: seen(tmp_path, "elected"))
    kraft.kill(leader(kraft))
    wait_until("the loss of the quorum is recorded", lambda: seen(tmp_path, "quorum-lost"))
    recorder.stop()
    assert seen(tmp_path, "gap") == 1


def known_to_broker(kraft: LocalKraft, broker: int, topic: str) -> dict[str, tuple[Any, ...]]:
    """Return leader, leader epoch, ISR and ELR of each partition as a broker describes them."""
    named = DescribeTopicPartitionsRequest.TopicRequest(name=topic)
    request = DescribeTopicPartitionsRequest(
        topics=[named], response_partition_limit=2000, cursor=None
    )
    with closing(CONNECT(f"127.0.0.1:{kraft.ports[broker]}")) as connection:
        answer = connection.send(request, DescribeTopicPartitionsResponse, 0)
    return {
        f"{topic}-{item.partition_index}": (
            item.leader_id,
            item.leader_epoch,
            tuple(item.isr_nodes),
            tuple(item.eligible_leader_replicas or ()),
        )
        for item in answer.topics[0].partitions
    }


def dumped_fields(record: LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record.line()).get("data", {})
    return found


def from_dump(own: dict[int, dict[str, Any]], like: tuple[LogRecord, ...]) -> list[LogRecord]:
    end = like[-1].offset
    return [
        LogRecord(offset, 0, 0, item["type"], int(item["version"]), item["data"])
        for offset, item in sorted(own.items())
        if offset <= end
    ]


def folded(records: Any) -> dict[str, Any]:
    fold = Fold()
    for record in records:
        fold.apply(record)
    return fold.states()
