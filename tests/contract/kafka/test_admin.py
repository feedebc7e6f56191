"""The admin client on a real broker with a real ZooKeeper."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.contract.kafka.conftest import GIVEN
from tests.contract.traffic.local_kafka import wait_until

from krt_contract.entries import Topic
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.zookeeper import parse_mode
from krt_operator.errors import TransientError, UserError
from krt_operator.health.broker_settings import (
    PASSWORDS,
    describe_unknown_settings,
    find_unknown_settings,
)
from krt_operator.kafka.admin import KafkaAdmin
from krt_operator.kafka.reader import CLIENT_SECONDS
from krt_operator.kafka.zookeeper import four_letter

if TYPE_CHECKING:
    from tests.contract.traffic.local_kafka import LocalKafka


@pytest.fixture
def topic(kafka: LocalKafka) -> str:
    name = f"t-{uuid4().hex[:8]}"
    with KafkaAdmin(kafka.bootstrap) as admin:
        admin.create_topics([Topic(name, 2, 1, {"retention.ms": "3600000"}, {0: (0,), 1: (0,)})])
    return name


def test_view_shows_brokers_controller_and_partitions(kafka: LocalKafka, topic: str) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        view = admin.view()
        assert admin.racks() == {0: "zone-a"}
    assert [one.id for one in view.brokers] == [0]
    assert view.controller == 0
    found = view.partition(topic, 1)
    assert found is not None
    assert (found.leader, found.replicas, found.isr) == (0, (0,), (0,))
    assert found.fully_replicated


def test_missing_rights_without_an_authorizer_are_none(kafka: LocalKafka, topic: str) -> None:
    def found() -> list[str] | None:
        # A group has a coordinator once Kafka has created its internal topic.
        with suppress(TransientError), KafkaAdmin(kafka.bootstrap) as admin:
            return admin.missing_rights([topic], [], ["readers"])
        return None

    wait_until("rights are told", lambda: found() is not None)
    assert found() == []


def test_create_topics_existing_topic_is_unchanged(kafka: LocalKafka, topic: str) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        admin.create_topics([Topic(topic, 1, 1, {}, {0: (0,)})])
        assert admin.view().partition(topic, 1) is not None


def test_delete_topics_deletes_those_named_and_passes_over_what_is_missing(
    kafka: LocalKafka, topic: str
) -> None:
    other = f"{topic}-other"
    with KafkaAdmin(kafka.bootstrap) as admin:
        admin.create_topics([Topic(other, 1, 1, {}, {0: (0,)})])
        admin.delete_topics([topic, "never-there"])
        wait_until("the topic is gone", lambda: admin.view().partition(topic, 0) is None)
        assert admin.view().partition(other, 0) is not None
        admin.delete_topics([topic])


def test_delete_groups_deletes_commits_and_passes_over_what_is_missing(
    kafka: LocalKafka, topic: str
) -> None:
    group = f"g-{topic}"
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    with KafkaAdmin(kafka.bootstrap) as admin:
        assert admin.group(group).committed == {(topic, 0): 0}
        admin.delete_groups([group, "never-there"])
        assert admin.group(group).committed == {}


def test_changed_broker_config_has_what_the_file_sets_and_no_password(kafka: LocalKafka) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        found = admin.changed_broker_config(0)
    assert found["num.network.threads"] == "2"
    assert found["broker.rack"] == "zone-a"
    assert "num.replica.fetchers" not in found
    assert not [name for name in found if name in PASSWORDS]


def test_create_topics_refused_setting_is_a_user_error(kafka: LocalKafka) -> None:
    plan = Topic("refused", 1, 1, {"min.insync.replicas": "none"}, {0: (0,)})
    with KafkaAdmin(kafka.bootstrap) as admin, pytest.raises(UserError) as caught:
        admin.create_topics([plan])
    assert caught.value.field == "spec.topics[refused]"
    assert "min.insync.replicas" in caught.value.message


def test_create_topics_unknown_setting_is_a_user_error_that_names_it(kafka: LocalKafka) -> None:
    plan = Topic("refused", 1, 1, {"no.such.setting": "1"}, {0: (0,)})
    with KafkaAdmin(kafka.bootstrap) as admin, pytest.raises(UserError) as caught:
        admin.create_topics([plan])
    assert caught.value.reason == "TopicConfigRefused"
    assert "no.such.setting" in caught.value.message


def test_broker_config_shows_which_settings_the_broker_does_not_know(kafka: LocalKafka) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        reported = admin.broker_config(0)
    assert (reported["num.network.threads"], reported["broker.rack"]) == ("2", "zone-a")
    unknown = find_unknown_settings(GIVEN, reported)
    assert unknown == ("listener.name.plaintext.no.such.setting", "num.io.thread")
    assert "num.io.thread (is num.io.threads meant?)" in describe_unknown_settings(
        unknown, reported
    )


def test_topic_configs_has_the_effective_settings(kafka: LocalKafka, topic: str) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        found = admin.topic_configs([topic])
    assert found[topic]["min.insync.replicas"] == "1"


def test_passwords_are_all_the_settings_that_a_broker_hides(kafka: LocalKafka) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        reported = admin.broker_config(0)
    hidden = {name for name, value in reported.items() if value is None}
    assert hidden - {*GIVEN} == PASSWORDS - {*GIVEN}


def test_bounds_open_transaction_holds_back_the_last_stable_offset(
    kafka: LocalKafka, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(5):
        producer.produce(topic, value=str(number), partition=0)
    producer.flush(30)
    with KafkaAdmin(kafka.bootstrap) as admin:
        opened = admin.bounds([topic])[0]
        producer.commit_transaction(30)
        # The coordinator writes the marker after it has answered the commit.
        wait_until("the transaction ended", lambda: admin.bounds([topic])[0].last_stable > 0)
        closed = admin.bounds([topic])[0]
    assert (opened.log_start, opened.high_watermark, opened.last_stable) == (0, 5, 0)
    # The commit marker takes an offset of its own.
    assert (closed.high_watermark, closed.last_stable) == (6, 6)
    assert (closed.leader, closed.leader_epoch, closed.isr) == (0, 0, (0,))


def test_offsets_since_time_gives_the_first_later_offset(kafka: LocalKafka, topic: str) -> None:
    created = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for second in range(5):
        at = int((created + timedelta(seconds=second)).timestamp() * 1000)
        producer.produce(topic, value=str(second), partition=0, timestamp=at)
    producer.flush(30)
    both = [(topic, 0), (topic, 1)]
    with KafkaAdmin(kafka.bootstrap) as admin:
        assert admin.offsets_since(both, created - timedelta(hours=1)) == {(topic, 0): 0}
        assert admin.offsets_since(both, created + timedelta(seconds=2.5)) == {(topic, 0): 3}
        assert admin.offsets_since(both, created + timedelta(seconds=4.1)) == {}


def test_bounds_unknown_topic_is_transient(kafka: LocalKafka) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin, pytest.raises(TransientError, match="nowhere"):
        admin.bounds(["nowhere"])


def test_group_with_a_consumer_has_state_members_and_commits(kafka: LocalKafka, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(3):
        producer.produce(topic, value=str(number), partition=1)
    producer.flush(30)
    group = f"g-{topic}"
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "client.id": "c-0",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    read = 0
    deadline = time.monotonic() + 30
    while read < 3 and time.monotonic() < deadline:
        message = consumer.poll(1)
        read += message is not None and message.error() is None
    consumer.commit(offsets=[TopicPartition(topic, 1, 3)], asynchronous=False)
    with KafkaAdmin(kafka.bootstrap) as admin:
        found = admin.group(group)
    consumer.close()
    assert (found.state, found.coordinator, found.stable) == ("Stable", 0, True)
    assert [one.client_id for one in found.members] == ["c-0"]
    assert found.members[0].partitions == ((topic, 0), (topic, 1))
    assert found.committed == {(topic, 1): 3}


def test_group_without_members_is_dead_and_no_error(kafka: LocalKafka) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        found = admin.group("nobody")
    assert (found.state, found.members, found.committed) == ("Dead", (), {})


def test_serves_script_broker_with_metadata_passes_the_probe(kafka: LocalKafka) -> None:
    script = files("krt_operator") / "templates" / "scripts" / "serves.sh"
    probe = ["bash", str(script), str(kafka.port)]
    assert subprocess.run(probe, timeout=30, check=False).returncode == 0


def test_four_letter_srvr_of_a_single_server_is_standalone(kafka: LocalKafka) -> None:
    assert parse_mode(four_letter(kafka.zookeeper, "srvr", PLAINTEXT)) == "standalone"


def test_elect_preferred_leader_that_leads_is_no_error(kafka: LocalKafka, topic: str) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        assert admin.elect_preferred([(topic, 0), (topic, 1)]) == {}


def test_elect_preferred_refusal_is_returned_by_partition(kafka: LocalKafka, topic: str) -> None:
    with KafkaAdmin(kafka.bootstrap) as admin:
        refused = admin.elect_preferred([(topic, 0), (topic, 7)])
    assert list(refused) == [f"{topic}-7"]
    assert refused[f"{topic}-7"]


def test_view_unavailable_cluster_is_transient_within_the_time_limit(kafka: LocalKafka) -> None:
    kafka.kill("broker")
    before = time.monotonic()
    with KafkaAdmin(kafka.bootstrap) as admin, pytest.raises(TransientError) as caught:
        admin.view()
    assert time.monotonic() - before < CLIENT_SECONDS + 2
    assert "metadata" in str(caught.value)
