"""Following the metadata log, against controllers that answer as Kafka does."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import pytest
from kafka.protocol.admin.cluster import DescribeQuorumResponse
from tests.unit.traffic.controller_double import (
    MILLIS,
    ControllerDouble,
    Log,
    batch,
    change,
    feature_level,
    no_op,
    topic_record,
    varint,
)
from tests.unit.traffic.timelines import recorded, wait_for

from krt_contract.fetch import fetch as fetch_bundle
from krt_contract.kafka_connection import MALFORMED
from krt_contract.kafka_connector import connector
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.metadata_log.files import read_log
from krt_contract.metadata_log.record import LogRecord, RecordType
from krt_contract.sinks.store import StoreSink
from krt_contract.stores.folder import FolderStore
from krt_traffic.errors import RecordingError
from krt_traffic.recorder import CLIENT_ID
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.metadata_log import follower as follower_module
from krt_traffic.recorder.metadata_log.decode import SECRETS, kafka_uuid, records_in, schemas
from krt_traffic.recorder.metadata_log.fetch import Answer, Position, fetch
from krt_traffic.recorder.metadata_log.follower import Follower
from krt_traffic.recorder.metadata_log.progress import Progress
from krt_traffic.recorder.metadata_log.quorum import QuorumWatch
from krt_traffic.recorder.metadata_log.store import LogStore
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from krt_contract.kafka_connection import Connection
    from krt_contract.kafka_connector import Connect

FOO = UUID(int=0xF00)
CONNECT = connector(PLAINTEXT, CLIENT_ID)


def scram() -> bytes:
    return bytes([1, 11, 0]) + b"secret credentials"


# Decoding.


def test_records_in_a_change_have_only_the_fields_that_it_names() -> None:
    (record,) = records_in(batch(7, 3, change(FOO, 2, isr=[2], leader=2, elr=[1])))
    assert (record.offset, record.at, record.epoch) == (7, MILLIS * 1000, 3)
    assert (record.type, record.version) == ("PARTITION_CHANGE_RECORD", 2)
    assert record.data == {
        "partitionId": 2,
        "topicId": kafka_uuid(FOO),
        "isr": [2],
        "leader": 2,
        "eligibleLeaderReplicas": [1],
    }


def test_records_in_an_unknown_type_and_a_newer_version_are_kept_as_bytes() -> None:
    newer = bytes([1, 5, 99]) + b"?"
    unknown, later = records_in(batch(0, 1, bytes([1, 120, 4]) + b"?", newer))
    assert (unknown.type, unknown.version, unknown.value) == ("RECORD_120", 4, "AXgEPw==")
    assert (later.type, later.version, later.data) == ("PARTITION_CHANGE_RECORD", 99, {})
    assert later.value


def test_records_in_credentials_are_dropped_but_their_place_is_kept() -> None:
    (record,) = records_in(batch(4, 1, scram()))
    assert (record.offset, record.type) == (4, "USER_SCRAM_CREDENTIAL_RECORD")
    assert not record.data
    assert not record.value


def test_records_in_a_setting_that_holds_a_password_lack_its_value() -> None:
    def setting(name: str, value: str) -> bytes:
        text = [varint(len(item) + 1) + item.encode() for item in ("", name, value)]
        return bytes([1, 4, 0, 4]) + b"".join(text) + b"\0"

    open_, hidden = records_in(
        batch(0, 1, setting("min.insync.replicas", "2"), setting("ssl.key.password", "x"))
    )
    assert open_.data["value"] == "2"
    assert "value" not in hidden.data


def test_records_in_a_damaged_batch_are_refused() -> None:
    data = bytearray(batch(0, 1, no_op()))
    data[-1] ^= 1
    with pytest.raises(ValueError, match="offset 0"):
        list(records_in(bytes(data)))


def test_records_in_a_batch_that_is_cut_off_are_left_for_the_next_answer() -> None:
    data = batch(0, 1, no_op()) + batch(1, 1, no_op())
    assert [item.offset for item in records_in(data[:-1])] == [0]


def test_schemas_have_every_type_that_the_history_is_made_of_and_no_secrets() -> None:
    assert not set(SECRETS) & set(schemas())
    known = {schema.type for schema in schemas().values()}
    assert set(RecordType) - {RecordType.LEADER_CHANGE} <= known


# Progress.


def answer(offset: int, *epochs: int, hw: int) -> Answer:
    data = b"".join(batch(offset + n, epoch, no_op()) for n, epoch in enumerate(epochs))
    return Answer(leader=100, leader_epoch=9, high_watermark=hw, records=data)


def offsets(records: list[Any]) -> list[int]:
    return [item.offset for item in records]


def test_progress_holds_back_what_is_not_committed() -> None:
    progress = Progress()
    assert offsets(progress.take(answer(0, 1, 1, 1, hw=1))) == [0]
    assert progress.position == Position(3, 1)
    assert offsets(progress.take(answer(3, hw=3))) == [1, 2]


def test_progress_without_a_high_watermark_takes_nothing_and_has_not_reached_it() -> None:
    progress, given = Progress(), answer(0, 2, 2, hw=-1)
    assert progress.take(given) == []
    assert not progress.reached(given)


def test_progress_dropped_records_are_fetched_again() -> None:
    progress = Progress()
    progress.take(answer(0, 1, 1, 1, hw=1))
    progress.drop_pending()
    assert progress.position == Position(1, 1)
    # The next leader never had them.
    assert [item.epoch for item in progress.take(answer(1, 2, hw=2))] == [2]


def test_progress_diverging_pending_records_are_dropped() -> None:
    progress = Progress()
    progress.take(answer(0, 1, 1, hw=1))
    progress.take(Answer(leader=101, leader_epoch=2, diverging=True))
    assert progress.position == Position(1, 1)


def test_progress_behind_a_snapshot_starts_at_the_second_record() -> None:
    progress = Progress()
    progress.take(Answer(leader_epoch=3, snapshot=True))
    assert progress.position == Position(1, 1)
    progress.take(Answer(leader_epoch=3, diverging=True))
    assert progress.position == Position(1, 2)
    assert offsets(progress.take(answer(1, 2, hw=2))) == [1]


def test_progress_log_that_does_not_continue_ends_the_recorder() -> None:
    progress = Progress(Position(5, 1))
    for given in (Answer(leader_epoch=3, snapshot=True), Answer(leader_epoch=3, diverging=True)):
        with pytest.raises(RecordingError, match="offset 5"):
            progress.take(given)


def test_progress_of_a_skipped_record_tries_no_epoch_above_the_leaders() -> None:
    progress = Progress(Position(1, 3))
    with pytest.raises(RecordingError):
        progress.take(Answer(leader_epoch=3, diverging=True))


# Following.


class Cluster:
    """Three controllers with one log."""

    def __init__(self) -> None:
        self.log = Log()
        self.log.add(topic_record("foo", FOO), no_op())
        self.log.commit()
        self.nodes = {node: ControllerDouble(node, self.log) for node in (100, 101, 102)}

    @property
    def addresses(self) -> dict[int, str]:
        return {node: double.address for node, double in self.nodes.items()}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(follower_module, "RETRY_SECONDS", 0.01)
    found = Cluster()
    yield found
    for double in found.nodes.values():
        double.stop()


@pytest.fixture
def features() -> list[dict[str, int]]:
    """What the followers of a test told."""
    return []


@pytest.fixture
def follow(
    cluster: Cluster, tmp_path: Path, features: list[dict[str, int]]
) -> Iterator[Callable[[str], Follower]]:
    started: list[tuple[Follower, Timeline]] = []

    def start(incarnation: str) -> Follower:
        timeline = Timeline(tmp_path / "timeline", incarnation)
        store = LogStore(tmp_path / "log", incarnation)
        failures = Failures(threading.Event().set)
        found = Follower(
            cluster.addresses,
            "cluster",
            store,
            timeline,
            failures=failures,
            features=lambda levels: features.append(dict(levels)),
            connect=CONNECT,
        )
        found.start()
        started.append((found, timeline))
        return found

    yield start
    for _, timeline in started:
        timeline.close()


def stored(folder: Path) -> list[int]:
    return [item.offset for item in read_log(folder / "log").records]


def test_follower_finds_the_leader_and_its_epoch(
    cluster: Cluster, follow: Callable[[str], Follower], tmp_path: Path
) -> None:
    cluster.log.leader, cluster.log.epoch = 102, 5
    following = follow("r1")
    wait_for(lambda: stored(tmp_path) == [0, 1])
    following.stop()
    assert [node for node, double in cluster.nodes.items() if double.requests] == [100, 102]


def test_follower_asks_again_where_an_answer_is_none_of_kafkas(
    cluster: Cluster, follow: Callable[[str], Follower], tmp_path: Path
) -> None:
    cluster.nodes[100].garbled = 1
    following = follow("r1")
    wait_for(lambda: stored(tmp_path) == [0, 1])
    following.stop()
    assert cluster.nodes[100].garbled == 0


def test_follower_of_a_leader_that_died_goes_on_at_the_next_one(
    cluster: Cluster, follow: Callable[[str], Follower], tmp_path: Path
) -> None:
    following = follow("r1")
    wait_for(lambda: stored(tmp_path) == [0, 1])
    # Sent, but never committed: the next leader has another record there.
    cluster.log.add(change(FOO, 0, leader=1))
    wait_for(lambda: cluster.nodes[100].requests[-1][0] == 3)
    cluster.log.leader, cluster.log.epoch = 101, 3
    cluster.log.records[2:] = []
    cluster.log.add(no_op(), no_op())
    cluster.nodes.pop(100).stop()
    cluster.log.commit()
    wait_for(lambda: stored(tmp_path) == [0, 1, 2, 3])
    following.stop()
    assert {item.type for item in read_log(tmp_path / "log").records[1:]} == {"NO_OP_RECORD"}


def test_follower_restarted_reads_on_and_tells_nothing_twice(
    cluster: Cluster, follow: Callable[[str], Follower], tmp_path: Path
) -> None:
    cluster.log.add(created(FOO, 0, [0, 1]))
    cluster.log.commit()
    first = follow("r1")
    wait_for(lambda: stored(tmp_path) == [0, 1, 2])
    first.stop()
    cluster.log.add(change(FOO, 0, leader=1))
    cluster.log.commit()
    # One that is killed leaves half a line; in the same pod it goes on in the same file.
    with (tmp_path / "log" / "recorder-r1.jsonl").open("a") as file:
        file.write('{"offset":3,"at"')
    for incarnation in ("r1", "r2"):
        following = follow(incarnation)
        wait_for(lambda: stored(tmp_path) == [0, 1, 2, 3])
        following.stop()
    assert read_log(tmp_path / "log").damages == ()
    events = [item for item in recorded(tmp_path / "timeline") if item["source"] == "partition"]
    found = [(item["detail"]["leader_epoch"], item["detail"]["offset"]) for item in events]
    assert found == [(0, 2), (1, 3)]


def test_follower_tells_the_features_that_are_committed_and_again_when_they_change(
    cluster: Cluster,
    follow: Callable[[str], Follower],
    features: list[dict[str, int]],
    tmp_path: Path,
) -> None:
    cluster.log.add(feature_level("metadata.version", 25), feature_level("group.version", 1))
    cluster.log.commit()
    following = follow("r1")
    wait_for(lambda: bool(features))
    cluster.log.add(feature_level("metadata.version", 29))
    wait_for(lambda: cluster.nodes[100].requests[-1][0] == 5)
    assert features == [{"metadata.version": 25, "group.version": 1}]
    cluster.log.commit()
    wait_for(lambda: len(features) == 2)
    cluster.log.add(no_op())
    cluster.log.commit()
    wait_for(lambda: stored(tmp_path)[-1] == 5)
    following.stop()
    assert features[1:] == [{"metadata.version": 29, "group.version": 1}]


def test_log_in_an_object_store_is_continued_by_the_next_recorder(tmp_path: Path) -> None:
    store, bundle = FolderStore(tmp_path / "store"), "ns/test/uid"
    records = list(records_in(batch(0, 1, *(no_op() for _ in range(5)))))
    for incarnation, start, end in (("r1", 0, 2), ("r1", 2, 3), ("r2", 3, 5)):
        lines = StoreSink(store, bundle, lambda *_: None).lines("metadata_log")
        written = LogStore(lines, incarnation)
        assert [item.offset for item in written.known] == list(range(start))
        written.append(records[start:end])
        written.close()
    fetch_bundle(store, bundle, tmp_path / "copy")
    found = read_log(tmp_path / "copy" / "metadata_log")
    assert (found.records, found.damages) == (tuple(records), ())


def test_follower_stopped_reads_what_was_committed_until_then(
    cluster: Cluster, follow: Callable[[str], Follower], tmp_path: Path
) -> None:
    following = follow("r1")
    wait_for(lambda: stored(tmp_path) == [0, 1])
    cluster.log.add(no_op())
    cluster.log.commit()
    following.stop()
    assert stored(tmp_path) == [0, 1, 2]


def test_follower_stopped_without_a_leader_records_a_gap_to_the_end(
    cluster: Cluster,
    follow: Callable[[str], Follower],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follower_module, "CATCH_UP_SECONDS", 1.1)
    following = follow("r1")
    wait_for(lambda: stored(tmp_path) == [0, 1])
    cluster.log.leader = -1
    following.stop()
    (gap,) = [item for item in recorded(tmp_path / "timeline") if item["event"] == "gap"]
    assert (gap["detail"]["stream"], gap["detail"]["atEnd"]) == ("metadata-log", True)


def created(topic: UUID, partition: int, replicas: list[int]) -> bytes:
    """Return a PARTITION_RECORD of version 0."""
    number = partition.to_bytes(4, "big")
    nodes = varint(len(replicas) + 1) + b"".join(item.to_bytes(4, "big") for item in replicas)
    rest = replicas[0].to_bytes(4, "big") + bytes(8) + b"\0"
    return bytes([1, 3, 0]) + number + topic.bytes + nodes + nodes + b"\x01\x01" + rest


# Loss of the quorum.


def test_quorum_watch_tells_a_loss_once_and_again_after_a_record(tmp_path: Path) -> None:
    silence = [4_000_000, 17]
    timeline = Timeline(tmp_path, "r1")
    watch = QuorumWatch(
        ["127.0.0.1:1"],
        lambda: (silence[0], silence[1]),
        timeline,
        Failures(threading.Event().set),
        CONNECT,
    )
    watch.look()
    watch.look()
    silence[:] = [0, 18]
    watch.look()
    silence[:] = [4_000_000, 18]
    watch.look()
    timeline.close()
    assert [item["detail"]["since"] for item in recorded(tmp_path)] == [17, 18]


def test_quorum_watch_tells_no_loss_of_a_quorum_that_was_never_there(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path, "r1")
    failures = Failures(threading.Event().set)
    QuorumWatch(["127.0.0.1:1"], lambda: None, timeline, failures, CONNECT).look()
    timeline.close()
    assert recorded(tmp_path) == []


def test_follower_knows_of_no_silence_before_the_first_record(
    cluster: Cluster, follow: Callable[[str], Follower]
) -> None:
    cluster.log.hw = -1
    following = follow("r1")
    wait_for(lambda: len(cluster.nodes[100].requests) > 1)
    assert following.silence() is None
    cluster.log.commit()
    wait_for(lambda: following.silence() is not None)
    following.stop()


def test_quorum_watch_tells_no_loss_while_a_broker_reaches_the_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "krt_traffic.recorder.metadata_log.quorum.describe_quorum",
        lambda broker, _connect: {"a": None, "b": (101, 3)}[broker],
    )
    timeline = Timeline(tmp_path, "r1")
    failures = Failures(threading.Event().set)
    QuorumWatch(["a", "b"], lambda: (9_000_000, 1), timeline, failures, CONNECT).look()
    timeline.close()
    assert recorded(tmp_path) == []


class Garbled:
    """A connection to a broker whose answer is none to the request that was sent."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def send(self, *_: object) -> Any:
        if self.error is not None:
            raise self.error
        topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[])
        return DescribeQuorumResponse(error_code=0, topics=[topic])

    def close(self) -> None:
        pass


@pytest.mark.parametrize("error", [*(kind("garbled") for kind in MALFORMED), None])
def test_quorum_watch_takes_an_answer_that_is_none_for_no_leader(
    tmp_path: Path, error: Exception | None
) -> None:
    timeline = Timeline(tmp_path, "r1")
    failures = Failures(threading.Event().set)
    connect = cast("Connect", lambda _: Garbled(error))
    QuorumWatch(["a", "b"], lambda: (9_000_000, 1), timeline, failures, connect).look()
    timeline.close()
    assert [item["event"] for item in recorded(tmp_path)] == ["quorum-lost"]


# What goes over the wire, byte by byte: as a client sent and got it that real controllers of Kafka
# 3.9 to 4.4 answered.


class Wire:
    """A connection that keeps the request and gives a prepared answer."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.request = answer, b""

    def send(self, request: Any, response: Any, version: int) -> Any:
        request.with_header(correlation_id=3, client_id="obs")
        self.request = request.encode(version=version, header=True, framed=True)
        return response.decode(self.answer, version=version, header=True)


def fetch_response(error: int, tags: dict[int, bytes], records: bytes) -> bytes:
    """Return a FetchResponse of version 17, after its length."""
    partition = struct.pack(">ihqqq", 0, error, 8, 8, 0) + b"\x01" + struct.pack(">i", -1)
    partition += varint(len(records) + 1) + records + varint(len(tags))
    partition += b"".join(
        varint(tag) + varint(len(value) + 1) + value + b"\0" for tag, value in sorted(tags.items())
    )
    topic = UUID(int=1).bytes + b"\x02" + partition + b"\0"
    return struct.pack(">ib", 3, 0) + struct.pack(">ihi", 0, 0, 0) + b"\x02" + topic + b"\0"


def test_fetch_asks_as_controllers_answer_it() -> None:
    wire = Wire(fetch_response(0, {}, b""))
    fetch(cast("Connection", wire), Position(7, 2), 3, "abcABC")
    partition = struct.pack(">iiqiqi", 0, 3, 7, 2, -1, 1 << 20) + b"\0"
    topic = b"\x02" + UUID(int=1).bytes + b"\x02" + partition + b"\0"
    cluster = b"\x01\x00\x07\x07abcABC"
    body = struct.pack(">iiibii", 250, 1, 1 << 20, 0, 0, -1) + topic + b"\x01\x01" + cluster
    expected = struct.pack(">hhih", 1, 17, 3, 3) + b"obs\0" + body
    assert wire.request == struct.pack(">i", len(expected)) + expected


def test_fetch_reads_records_and_high_watermark() -> None:
    data = batch(7, 2, no_op())
    found = fetch(cast("Connection", Wire(fetch_response(0, {}, data))), Position(7, 2), 3, "c")
    assert found == Answer(high_watermark=8, records=data)


def test_fetch_reads_who_leads_and_what_else_an_answer_says() -> None:
    tags = {0: struct.pack(">iq", 4, 90), 1: struct.pack(">ii", 101, 5)}
    diverging = Wire(fetch_response(6, tags, b""))
    found = fetch(cast("Connection", diverging), Position(7, 2), 3, "c")
    assert (found.error, found.leader, found.leader_epoch) == (6, 101, 5)
    assert found.diverging
    assert not found.snapshot
    behind = Wire(fetch_response(0, {2: struct.pack(">qi", 500, 4)}, b""))
    found = fetch(cast("Connection", behind), Position(0, 0), 3, "c")
    assert found.snapshot
    assert not found.diverging


def test_records_in_a_brokers_registration_name_its_endpoints() -> None:
    endpoint = b"\x0aPLAINTEXT" + b"\x08kafka-1" + struct.pack(">Hh", 9092, 0) + b"\0"
    # Version 3, of Kafka 3.9: no broker of a migration, and its folders as a tagged field.
    body = struct.pack(">i?", 1, 0) + UUID(int=9).bytes + struct.pack(">q", 77)
    folders = b"\x01\x00\x11\x02" + FOO.bytes
    value = bytes([1, 0, 3]) + body + b"\x02" + endpoint + b"\x01" + b"\x02a" + b"\x01\0" + folders
    (record,) = records_in(batch(3, 1, value))
    assert record.type == "REGISTER_BROKER_RECORD"
    assert (record.data["brokerId"], record.data["brokerEpoch"]) == (1, 77)
    assert record.data["endPoints"] == [
        {"name": "PLAINTEXT", "host": "kafka-1", "port": 9092, "securityProtocol": 0}
    ]
    assert (record.data["rack"], record.data["fenced"]) == ("a", True)
    assert record.data["logDirs"] == [kafka_uuid(FOO)]
    assert LogRecord.parse(record.line()) == record
