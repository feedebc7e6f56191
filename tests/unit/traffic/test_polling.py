"""Polling, as pure functions: from the answers of brokers to events, and who may say what."""

from __future__ import annotations

import struct
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import pytest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from tests.unit.traffic.timelines import recorded, wait_for

from krt_contract.kafka_connector import connector
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.metadata import MetadataMode
from krt_contract.timeline import EventName
from krt_traffic.clock import wall
from krt_traffic.errors import RecordingError
from krt_traffic.recorder import CLIENT_ID
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.polling import poller as poller_module
from krt_traffic.recorder.polling import quorum as quorum_module
from krt_traffic.recorder.polling.fold import Fold, events_of
from krt_traffic.recorder.polling.poller import Poller
from krt_traffic.recorder.polling.quorum import QuorumPoll
from krt_traffic.recorder.polling.requests import BrokerRequests, read_topics, read_view, version_of
from krt_traffic.recorder.polling.view import UNKNOWN, Broker, PartitionView, View
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from krt_contract.kafka_connection import Connection
    from krt_contract.timeline import Event

BROKERS = {broker: Broker(f"b{broker}", 9092) for broker in (0, 1, 2)}
ALL = (0, 1, 2)


def led(leader: int, epoch: int, isr: tuple[int, ...] = ALL) -> PartitionView:
    return PartitionView(leader, epoch, isr, ALL)


def view(broker: int, asked: int, state: PartitionView | None, **changes: Any) -> View:
    partitions = {"foo-0": state} if state else {}
    fields: dict[str, Any] = {"brokers": BROKERS, "controller": 0} | changes
    return View(broker, asked, asked + 1, partitions=partitions, **fields)


def folded(*views: View, mode: MetadataMode = MetadataMode.KRAFT) -> list[Event]:
    return events_of(Fold(mode, asked=set(ALL)), views)


def states(events: list[Event]) -> list[tuple[int, int, list[int], int | None]]:
    """Return (leader, epoch, ISR, unchanged until) of each state."""
    return [
        (
            event.detail["leader"],
            event.detail["leader_epoch"],
            event.detail["isr"],
            event.detail.get("unchanged_until"),
        )
        for event in events
        if event.event == EventName.STATE
    ]


def of_brokers(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.event, event.subject) for event in events if event.source == "broker"]


# The fold.


def test_fold_of_the_first_answer_tells_all_and_no_time_before() -> None:
    events = folded(view(0, 100, led(0, 3)))
    assert states(events) == [(0, 3, [0, 1, 2], None)]
    assert of_brokers(events) == [("registered", "0"), ("registered", "1"), ("registered", "2")]
    (state,) = (event for event in events if event.event == "state")
    assert (state.at, state.subject) == (101, "foo-0")
    assert (state.detail["from"], state.detail["replicas"]) == ("polling", [0, 1, 2])


def test_fold_of_equal_answers_tells_nothing_more() -> None:
    seen = folded(view(0, 100, led(0, 3)), view(1, 150, led(0, 3)), view(0, 200, led(0, 3)))
    assert len(states(seen)) == 1
    assert len(of_brokers(seen)) == 3


def test_fold_of_an_election_tells_until_when_most_brokers_had_the_state_before() -> None:
    seen = folded(
        view(0, 100, led(0, 3)),
        view(1, 150, led(0, 3)),
        view(2, 200, led(0, 3)),
        view(1, 300, led(1, 4)),
    )
    # Two of three: the second newest of the answers that had it.
    assert states(seen)[-1] == (1, 4, [0, 1, 2], 150)


def test_fold_of_an_answer_of_one_broker_alone_confirms_nothing() -> None:
    seen = folded(view(0, 100, led(0, 3)), view(0, 900, led(0, 3)), view(1, 950, led(1, 4)))
    assert states(seen)[-1] == (1, 4, [0, 1, 2], None)


def test_fold_of_an_older_epoch_that_comes_later_tells_nothing() -> None:
    seen = folded(view(1, 100, led(1, 4)), view(0, 200, led(0, 3)), view(0, 300, led(0, 3, (0,))))
    assert states(seen) == [(1, 4, [0, 1, 2], None)]


def test_fold_within_an_epoch_takes_the_leaders_word() -> None:
    seen = folded(
        view(1, 100, led(0, 3)),
        view(0, 200, led(0, 3, (0, 1))),
        view(1, 300, led(0, 3)),  # it has not heard of the smaller ISR yet
        view(2, 400, led(0, 3)),
    )
    assert [isr for _, _, isr, _ in states(seen)] == [[0, 1, 2], [0, 1]]


def test_fold_without_the_leaders_word_takes_a_change_once_nobody_tells_the_state_before() -> None:
    fold = Fold(MetadataMode.KRAFT, asked=set(ALL))
    events_of(fold, [view(0, 90, led(0, 3)), view(1, 100, led(0, 3)), view(2, 110, led(0, 3))])
    fold.drop(0)
    assert not states(fold.take(view(1, 200, led(0, 3, (0, 1)))))
    assert states(fold.take(view(2, 210, led(0, 3, (0, 1))))) == [(0, 3, [0, 1], 100)]


def test_fold_of_eligible_leader_replicas_tells_them_where_there_are_any() -> None:
    told = PartitionView(2, 5, (2,), ALL, elr=(1,), last_known=(0,))
    (event,) = (item for item in folded(view(2, 1, told)) if item.event == "state")
    assert (event.detail["elr"], event.detail["last_known_elr"]) == ([1], [0])


@pytest.mark.parametrize(
    ("mode", "gone", "back"),
    [
        (MetadataMode.KRAFT, "fenced", "unfenced"),
        (MetadataMode.ZOOKEEPER, "unregistered", "registered"),
    ],
)
def test_fold_of_a_broker_that_is_gone_waits_until_all_that_answer_agree(
    mode: MetadataMode, gone: str, back: str
) -> None:
    without = {broker: BROKERS[broker] for broker in (0, 1)}
    seen = folded(
        view(0, 100, None),
        view(1, 110, None),
        view(0, 200, None, brokers=without),  # the other has not heard yet
        view(1, 210, None, brokers=without),
        view(0, 300, None),
        view(1, 310, None),
        mode=mode,
    )
    assert of_brokers(seen)[3:] == [(gone, "2"), (back, "2")]
    events = [event for event in seen if event.source == "broker"]
    assert (events[3].at, events[3].detail["unchanged_until"]) == (211, 100)


def test_fold_with_kraft_takes_nobodys_word_for_the_controller() -> None:
    seen = folded(view(0, 1, None, controller=1), view(0, 2, None, controller=2))
    assert not [event for event in seen if event.source == "controller"]


def test_fold_with_zookeeper_tells_each_controller_and_when_there_is_none() -> None:
    seen = folded(
        view(0, 1, None, controller=1),
        view(0, 2, None, controller=-1),
        view(0, 3, None, controller=2),
        mode=MetadataMode.ZOOKEEPER,
    )
    told = [(event.event, event.subject) for event in seen if event.source == "controller"]
    assert told == [("elected", "1"), ("vacant", ""), ("elected", "2")]


# Answers.


def response() -> Any:
    topic = MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition(
        error_code=5,
        partition_index=2,
        leader_id=-1,
        leader_epoch=7,
        replica_nodes=[2, 0, 1],
        isr_nodes=[1, 0],
        offline_replicas=[],
        version=12,
    )
    return SimpleNamespace(
        brokers=[SimpleNamespace(node_id=4, host="b4", port=9092, rack=None)],
        controller_id=4,
        topics=[
            topic(error_code=0, name="foo", partitions=[partition], version=12),
            topic(error_code=3, name="absent", partitions=[], version=12),
        ],
    )


def test_read_topics_of_an_answer_keeps_epochs_of_partitions_without_a_leader() -> None:
    assert read_topics(response().topics) == {"foo-2": PartitionView(-1, 7, (0, 1), (2, 0, 1))}


def test_read_view_of_an_answer_names_who_is_alive() -> None:
    found = read_view(response(), {}, broker=4, asked=1, at=2)
    assert found == View(4, 1, 2, {4: Broker("b4", 9092)}, 4, {})
    assert found.brokers[4].address == "b4:9092"


def test_version_of_requests_of_a_known_release_names_it_and_of_a_newer_one_says_so() -> None:
    assert version_of({1: (0, 17), 2: (0, 9), 75: (0, 0)}) == "3.9"
    assert version_of({1: (4, 18), 2: (1, 11), 35: (1, 5)}) == "4.3 or later"


def test_ask_of_a_broker_without_leader_epochs_is_refused() -> None:
    keys = [SimpleNamespace(api_key=3, min_version=0, max_version=6)]
    connection = mock.Mock(send=mock.Mock(return_value=SimpleNamespace(api_keys=keys)))
    with pytest.raises(RecordingError, match=r"older than Kafka 2\.1"):
        BrokerRequests(0, "b0:9092", lambda _address: connection).ask(["foo"])
    connection.close.assert_called_once()


def versions_answer(tags: bytes, error: int = 0) -> bytes:
    """Return an ApiVersionsResponse of version 3 without requests, after its length."""
    return struct.pack(">ih", 1, error) + b"\x01" + struct.pack(">i", 0) + tags


def finalized(epoch: int, **levels: int) -> bytes:
    """Return the tagged fields of finalized features."""
    entries = [
        bytes([len(name) + 1]) + name.encode() + struct.pack(">hh", level, level) + b"\0"
        for name, level in levels.items()
    ]
    features = bytes([len(entries) + 1]) + b"".join(entries)
    return b"\x02\x01\x08" + struct.pack(">q", epoch) + bytes([2, len(features)]) + features


class Wire:
    """A connection to a broker without topics that gives a prepared answer to ApiVersions 3."""

    def __init__(self, newest: int, answer: bytes) -> None:
        self.newest, self.answer = newest, answer

    def send(self, request: Any, response: Any, version: int) -> Any:
        if isinstance(request, MetadataRequest):
            return SimpleNamespace(brokers=[], controller_id=0, topics=[])
        if version == 0:
            keys = ((MetadataRequest.API_KEY, 12), (request.API_KEY, self.newest))
            return SimpleNamespace(
                api_keys=[
                    SimpleNamespace(api_key=key, min_version=0, max_version=newest)
                    for key, newest in keys
                ]
            )
        assert request.encode(version=version).startswith(b"\x0dkafka-python")
        return response.decode(self.answer, version=version, header=True)


@pytest.mark.parametrize(
    ("newest", "answer", "found"),
    [
        (
            4,
            versions_answer(finalized(7, metadata=29, group=1)),
            {"group": 1, "metadata": 29},
        ),
        (4, versions_answer(finalized(-1, metadata=29)), {}),
        (4, versions_answer(b"\0"), {}),  # with ZooKeeper
        (2, b"not asked", {}),  # Kafka 2.3
    ],
)
def test_features_are_those_that_a_broker_knows_to_be_finalized(
    newest: int, answer: bytes, found: dict[str, int]
) -> None:
    wire = cast("Connection", Wire(newest, answer))
    requests = BrokerRequests(0, "b0:9092", lambda _address: wire)
    assert requests.features() == {}
    requests.ask([])
    assert list(requests.features().items()) == list(found.items())


# The threads.


class Cluster:
    """Brokers that answer as they are told to; those in ``silent`` give no answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state = led(0, 0)
        self.features: dict[str, int] | None = {"metadata.version": 29}
        self.brokers = BROKERS
        self.silent: set[int] = set()
        self.asked: set[int] = set()
        monkeypatch.setattr(poller_module, "BrokerRequests", self.requests)
        monkeypatch.setattr(poller_module, "INTERVAL_SECONDS", 0.01)
        monkeypatch.setattr(poller_module, "BOOTSTRAP_SECONDS", 0.01)
        monkeypatch.setattr(poller_module, "STOP_SECONDS", 0.1)

    def requests(self, broker: int, _address: str, _connect: Any) -> Any:
        def ask(_topics: Any) -> View:
            if broker in self.silent:
                raise ConnectionRefusedError("it is away")
            self.asked.add(broker)
            return view(broker, wall(), self.state, brokers=self.brokers)

        def features() -> dict[str, int]:
            if self.features is None:
                raise ConnectionResetError("it is away")
            return self.features

        return SimpleNamespace(ask=ask, close=lambda: None, version="3.9", features=features)


def polled(
    tmp_path: Path, versions: list[str], features: list[Mapping[str, int]] | None = None
) -> tuple[Poller, Timeline, Failures]:
    failures = Failures(threading.Event().set)
    timeline = Timeline(tmp_path, "r1")
    fold = Fold(MetadataMode.KRAFT)
    poller = Poller(
        ["a:1"],
        ["foo"],
        fold,
        timeline,
        failures=failures,
        version=versions.append,
        features=(features if features is not None else []).append,
        connect=connector(PLAINTEXT, CLIENT_ID),
    )
    return poller, timeline, failures


def test_poller_asks_every_broker_and_writes_what_changed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, versions = Cluster(monkeypatch), list[str]()
    poller, timeline, failures = polled(tmp_path, versions)
    poller.start()
    wait_for(lambda: cluster.asked >= {0, 1, 2})
    cluster.state = led(1, 1)
    wait_for(lambda: len(of_partition(tmp_path)) > 1)
    poller.stop()
    timeline.close()
    failures.check()
    assert [item["detail"]["leader_epoch"] for item in of_partition(tmp_path)] == [0, 1]
    assert poller.addresses() == ["b0:9092", "b1:9092", "b2:9092"]
    assert versions == ["3.9"]
    assert not [item for item in recorded(tmp_path) if item["event"] == "gap"]


@pytest.mark.parametrize("reported", [{"metadata.version": 29}, None])
def test_poller_tells_features_once_and_polls_on_without_them(
    reported: dict[str, int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(monkeypatch)
    features: list[Mapping[str, int]] = []
    cluster.features = reported
    poller, timeline, failures = polled(tmp_path, [], features)
    poller.start()
    wait_for(lambda: cluster.asked >= {0, 1, 2})
    poller.stop()
    timeline.close()
    failures.check()
    assert features == ([] if reported is None else [reported])


def test_poller_reports_nothing_of_a_broker_that_does_not_know_its_cluster_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, versions = Cluster(monkeypatch), list[str]()
    features: list[Mapping[str, int]] = []
    cluster.brokers, cluster.features = {}, {}
    poller, timeline, failures = polled(tmp_path, versions, features)
    poller.start()
    wait_for(lambda: UNKNOWN in cluster.asked)
    cluster.asked.clear()
    wait_for(lambda: UNKNOWN in cluster.asked)
    cluster.features = {"metadata.version": 29}
    cluster.brokers = BROKERS
    wait_for(lambda: cluster.asked >= {0, 1, 2})
    poller.stop()
    timeline.close()
    failures.check()
    assert (versions, features) == (["3.9"], [{"metadata.version": 29}])


def test_poller_without_an_answer_at_the_end_records_what_was_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(monkeypatch)
    poller, timeline, failures = polled(tmp_path, [])
    poller.start()
    wait_for(lambda: len(of_partition(tmp_path)) == 1)
    cluster.silent = set(ALL)
    later = wall() + 5_000_000
    monkeypatch.setattr(f"{poller_module.__name__}.wall", lambda: later)
    poller.stop()
    timeline.close()
    failures.check()
    (gap,) = (item for item in recorded(tmp_path) if item["event"] == "gap")
    assert (gap["detail"]["stream"], gap["detail"]["atEnd"]) == ("polling", True)


def of_partition(folder: Path) -> list[dict[str, Any]]:
    return [item for item in recorded(folder) if item["source"] == "partition"]


# The quorum.


def quorum(tmp_path: Path, heard: int = 1 << 62) -> tuple[QuorumPoll, Timeline]:
    timeline = Timeline(tmp_path, "r1")
    failures = Failures(threading.Event().set)
    connect = connector(PLAINTEXT, CLIENT_ID)
    return QuorumPoll(lambda: ["b0:9092"], lambda: heard, timeline, failures, connect), timeline


def looked(
    poll: QuorumPoll, answers: list[tuple[int, int] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let it look once for each answer, two seconds apart."""
    for number, answer in enumerate(answers):
        monkeypatch.setattr(quorum_module, "describe_quorum", lambda *_asked, found=answer: found)
        monkeypatch.setattr(quorum_module, "wall", lambda at=number: at * 2_000_000)
        poll.look()


def test_quorum_poll_records_each_newer_leader_once_and_no_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, timeline = quorum(tmp_path)
    looked(poll, [(100, 3), (100, 3), (101, 5), (100, 3)], monkeypatch)
    timeline.close()
    found = [(e["event"], e["subject"], e["detail"]) for e in recorded(tmp_path)]
    assert found == [
        ("elected", "100", {"epoch": 3, "from": "polling"}),
        ("elected", "101", {"epoch": 5, "from": "polling", "unchanged_until": 2_000_000}),
    ]


def test_quorum_poll_without_a_leader_records_the_loss_once_if_brokers_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, timeline = quorum(tmp_path)
    looked(poll, [None, (100, 3), None, None, None], monkeypatch)
    timeline.close()
    assert [e["event"] for e in recorded(tmp_path)] == ["elected", "quorum-lost"]
    assert recorded(tmp_path)[1]["detail"] == {"since": 2_000_000, "from": "polling"}


def test_quorum_poll_of_brokers_that_answer_nothing_records_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, timeline = quorum(tmp_path, heard=0)
    looked(poll, [(100, 3), None, None, None], monkeypatch)
    timeline.close()
    assert [e["event"] for e in recorded(tmp_path)] == ["elected"]
