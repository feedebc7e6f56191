"""The history of a cluster as polling sees it, against the copy of the log that a broker holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import ElectionType
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_kraft import BROKERS, NEWEST, OLDEST, LocalKraft, lent

from krt_contract.kafka_connector import connector
from krt_contract.kafka_login import PLAINTEXT, Login
from krt_contract.metadata import MetadataMode
from krt_contract.metadata_log.fold import Fold as LogFold
from krt_contract.metadata_log.record import LogRecord
from krt_traffic.recorder import CLIENT_ID
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.metadata_log.quorum import describe_quorum
from krt_traffic.recorder.polling.fold import Fold
from krt_traffic.recorder.polling.poller import Poller
from krt_traffic.recorder.polling.quorum import QuorumPoll
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.traffic.local_kafka import LocalKafka

TOPICS = ("foo", "__consumer_offsets", "absent")


def fail() -> None:
    raise AssertionError("a thread of the recorder failed; its traceback is in the log")


class Recorder:
    """The recorder's part that polls, writing into a bundle."""

    def __init__(
        self, bootstrap: list[str], mode: MetadataMode, bundle: Path, login: Login = PLAINTEXT
    ) -> None:
        connect = connector(login, CLIENT_ID)
        self.failures = Failures(fail)
        self.timeline = Timeline(bundle / "timeline", "r1")
        self.versions: list[str] = []
        self.features: dict[str, int] = {}
        self.poller = Poller(
            bootstrap,
            TOPICS,
            Fold(mode),
            self.timeline,
            failures=self.failures,
            version=self.versions.append,
            features=self.features.update,
            connect=connect,
        )
        self.quorum = QuorumPoll(
            self.poller.addresses, self.poller.heard, self.timeline, self.failures, connect
        )
        self._mode = mode

    def start(self) -> Recorder:
        self.poller.start()
        if self._mode is MetadataMode.KRAFT:
            self.quorum.start()
        return self

    def stop(self) -> None:
        if self._mode is MetadataMode.KRAFT:
            self.quorum.stop()
        self.poller.stop()
        self.timeline.close()
        self.failures.check()


def told(bundle: Path) -> list[dict[str, Any]]:
    lines = (bundle / "timeline" / "recorder-r1.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def seen(bundle: Path, event: str, subject: str | None = None) -> int:
    events = [item["subject"] for item in told(bundle) if item["event"] == event]
    return len(events) if subject is None else events.count(subject)


def last(bundle: Path) -> dict[str, dict[str, Any]]:
    """Return partition → its last state."""
    return {item["subject"]: item["detail"] for item in told(bundle) if item["event"] == "state"}


def in_sync(bundle: Path, broker: int) -> bool:
    return all(broker in state["isr"] for state in last(bundle).values())


@pytest.fixture(scope="module", params=[OLDEST, NEWEST])
def kraft(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalKraft]:
    with lent(tmp_path_factory.mktemp("kraft"), request.param) as local:
        yield local


def test_polling_of_kraft_through_failures_ends_with_the_states_of_the_log(
    kraft: LocalKraft, tmp_path: Path
) -> None:
    recorder = Recorder(kraft.brokers, MetadataMode.KRAFT, tmp_path).start()
    kraft.start()
    kraft.create_topic("foo", 4, **{"min.insync.replicas": "2"})
    wait_until("the topic is seen", lambda: seen(tmp_path, "state", "foo-3"))
    wait_until("the controller is seen", lambda: seen(tmp_path, "elected"))
    assert sorted(e["subject"] for e in told(tmp_path) if e["event"] == "registered") == ["0", "1"]

    kraft.kill(0)
    wait_until("the broker is fenced", lambda: seen(tmp_path, "fenced", "0"))
    found = describe_quorum(kraft.brokers[1], connector(PLAINTEXT, CLIENT_ID))
    assert found is not None
    kraft.kill(found[0])
    wait_until("another controller leads", lambda: seen(tmp_path, "elected") > 1)
    kraft.start_node(0)
    wait_until("the broker is back", lambda: seen(tmp_path, "unfenced", "0"))
    wait_until("it is in sync again", lambda: in_sync(tmp_path, 0))
    admin = kraft.admin()
    admin.elect_leaders(ElectionType.PREFERRED).result()
    wait_until(
        "it leads a partition", lambda: any(s["leader"] == 0 for s in last(tmp_path).values())
    )
    recorder.stop()

    assert states_of(kraft) == {
        subject: (detail["leader"], detail["leader_epoch"], detail["isr"])
        for subject, detail in last(tmp_path).items()
    }
    events = told(tmp_path)
    assert all(item["detail"]["from"] == "polling" for item in events if item["event"] != "gap")
    for item in events:
        assert item["detail"].get("unchanged_until", 0) < item["at"], item
    assert recorder.versions == ["4.3 or later" if kraft.version == NEWEST else "3.9"]
    # Levels as StorageTool formats a new cluster; the log itself has the same.
    assert recorder.features == log_of(kraft).features
    assert ("group.version" in recorder.features) is (kraft.version == NEWEST)
    elr = [item["detail"].get("elr") for item in events if item["event"] == "state"]
    assert ([0] in elr) is (kraft.version == NEWEST)


def states_of(kraft: LocalKraft) -> dict[str, tuple[int, int, list[int]]]:
    """Return the partitions' states as a broker's own copy of the log has them."""
    return {
        subject: (state.leader, state.leader_epoch, sorted(state.isr))
        for subject, state in log_of(kraft).states().items()
    }


def log_of(kraft: LocalKraft) -> LogFold:
    fold = LogFold()
    for item in kraft.dump(BROKERS[1]):
        fold.apply(LogRecord(item["offset"], 0, 1, item["type"], item["version"], item["data"]))
    return fold


def test_polling_of_zookeeper_mode_sees_controller_elections_and_a_silence(
    own_kafka: LocalKafka, tmp_path: Path
) -> None:
    own_kafka.start()
    own_kafka.create_topic("foo", 1)
    recorder = Recorder([own_kafka.bootstrap], MetadataMode.ZOOKEEPER, tmp_path).start()
    wait_until("the topic is seen", lambda: seen(tmp_path, "state", "foo-0"))
    wait_until("the controller is seen", lambda: seen(tmp_path, "elected", "0"))
    before = last(tmp_path)

    own_kafka.kill("broker")
    own_kafka.await_session_end()
    own_kafka.start_broker()
    wait_until("the silence is recorded", lambda: seen(tmp_path, "gap"))
    # The broker was the controller, too, so nobody deposed it: it leads on in its epoch.
    assert last(tmp_path) == before
    own_kafka.kill("broker")
    recorder.stop()

    gaps = [item["detail"] for item in told(tmp_path) if item["event"] == "gap"]
    assert {gap["stream"] for gap in gaps} == {"polling"}
    assert [gap.get("atEnd", False) for gap in gaps][-1]
