"""Secured members on real software: who is let in, and where no secret is."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.contract.kafka import local_members
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_kraft import NEWEST, OLDEST

from krt_contract.entries import Topic
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.kafka_security import SecretFile
from krt_contract.members import CONTROLLER_PORT, KAFKA_PORT, ZOOKEEPER_PORT
from krt_contract.metadata import MetadataMode
from krt_contract.metadata_log.files import parse_log
from krt_contract.sinks.lines import line_folder
from krt_contract.zookeeper import parse_mode
from krt_operator.constants import PEERS_PORT, PROBE_PORT
from krt_operator.errors import TransientError
from krt_operator.health.cluster_security import check_security
from krt_operator.kafka.admin import KafkaAdmin
from krt_operator.kafka.quorum import describe_quorum
from krt_operator.kafka.zookeeper import four_letter
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.metadata_log.follower import Follower
from krt_traffic.recorder.metadata_log.history import MetadataLogHistory
from krt_traffic.recorder.quorum import Quorum
from krt_traffic.recorder.timeline import Timeline
from krt_traffic.recorder.znodes import Znodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.kafka.local_members import LocalMembers

    from krt_contract.kafka_login import Login

SCRAM = {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-512"}}
SCRAM_256 = {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-256"}}
PLAIN = {"tls": {}, "sasl": {"mechanism": "PLAIN"}}
KRAFT, ZOOKEEPER = MetadataMode.KRAFT, MetadataMode.ZOOKEEPER
CASES: dict[str, tuple[dict[str, Any], str, MetadataMode]] = {
    "scram": (SCRAM, NEWEST, KRAFT),
    "scram-oldest": (SCRAM_256, OLDEST, KRAFT),
    "plain": (PLAIN, NEWEST, KRAFT),
    "certificate": ({"tls": {}}, NEWEST, KRAFT),
    "scram-zookeeper": (SCRAM, OLDEST, ZOOKEEPER),
    "plain-zookeeper": (PLAIN, OLDEST, ZOOKEEPER),
    "certificate-zookeeper": ({"tls": {}}, OLDEST, ZOOKEEPER),
}


@pytest.fixture(scope="module", params=CASES)
def members(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalMembers]:
    folder = tmp_path_factory.mktemp("members")
    with local_members.lent(folder, *CASES[request.param]) as local:
        local.start()
        with KafkaAdmin(local.address(), local.login) as admin:
            admin.create_topics([Topic("foo", 1, 1, {}, {0: (0,)})])
        yield local


def with_text(login: Login, file: SecretFile, text: str) -> Login:
    return replace(login, contents={**login.contents, file: text})


def metadata_leader(members: LocalMembers, login: Login) -> str:
    """Which member leads the metadata, asked with this login."""
    if not members.plan.spec.kraft:
        address = members.address(ZOOKEEPER_PORT)
        return parse_mode(four_letter(address, "srvr", login)) or ""
    quorum = describe_quorum(members.address(CONTROLLER_PORT), login)
    return "" if quorum is None else str(quorum.leader)


def test_secured_members_let_the_controller_in(members: LocalMembers) -> None:
    with KafkaAdmin(members.address(), members.login) as admin:
        wait_until("the topic is there", lambda: admin.view().partition("foo", 0))
        check_security(members.plan, admin.broker_config(0))
    leader = "100" if members.plan.spec.kraft else "standalone"
    assert metadata_leader(members, members.login) == leader


def test_secured_members_refuse_a_client_without_login(members: LocalMembers) -> None:
    for port in (KAFKA_PORT, PEERS_PORT):
        with KafkaAdmin(members.address(port), PLAINTEXT) as admin, pytest.raises(TransientError):
            admin.view()
    with pytest.raises(TransientError):
        metadata_leader(members, PLAINTEXT)


def test_secured_members_refuse_a_wrong_password_or_no_certificate(members: LocalMembers) -> None:
    login = members.login
    if login.security.mechanism is None:
        keys = tuple(key for key in login.security.keys if key.file is SecretFile.CA)
        security = replace(login.security, keys=keys)
        wrong = replace(
            login, security=security, contents={keys[0].file: members.credentials.authority}
        )
    else:
        wrong = with_text(login, SecretFile.PASSWORD, "another")
    with KafkaAdmin(members.address(), wrong) as admin:
        with pytest.raises(TransientError):
            admin.view()
        refusal = admin.refusal()
    assert refusal is not None
    with pytest.raises(TransientError):
        metadata_leader(
            members, replace(login, contents={SecretFile.CA: members.credentials.authority})
        )


def test_probe_listener_gives_nobody_any_right(members: LocalMembers) -> None:
    client = AdminClient({"bootstrap.servers": f"127.0.0.1:{members.ports[PROBE_PORT]}"})
    assert set(client.list_topics(timeout=10).brokers) == {0}
    assert "foo" not in client.list_topics(timeout=10).topics
    (created,) = client.create_topics([NewTopic("mine", 1, 1)]).values()
    with pytest.raises(KafkaException, match="AUTHORIZATION_FAILED"):
        created.result(15)


def test_reassign_script_logs_in(members: LocalMembers) -> None:
    moves = [{"topic": "foo", "partition": 0, "replicas": [0]}]
    done = members.reassign(json.dumps({"version": 1, "partitions": moves}))
    assert done.returncode == 0, done.stdout


def test_recorder_follows_the_history_and_keeps_no_secret(
    members: LocalMembers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_metadata_log if members.plan.spec.kraft else record_znodes
    record(members, tmp_path, monkeypatch)
    assert no_secret(members, *(each.read_text() for each in tmp_path.rglob("*.jsonl")))


def record_znodes(members: LocalMembers, tmp_path: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for file, text in members.login.contents.items():
        (secrets / file).write_text(text)
    timeline = Timeline(tmp_path / "timeline", "r1")
    failures = Failures(threading.Event().set)
    (server,) = members.plan.zookeepers
    address = members.address(ZOOKEEPER_PORT)
    znodes = Znodes(address, timeline, failures, secrets)
    quorum = Quorum({server.member: address}, timeline, failures, members.login.ssl_context())
    znodes.start()
    quorum.start()

    def recorded() -> set[tuple[str, str, str]]:
        texts = [path.read_text() for path in (tmp_path / "timeline").rglob("*.jsonl")]
        events = [json.loads(line) for text in texts for line in text.splitlines()]
        return {(event["source"], event["event"], event["subject"]) for event in events}

    expected = {
        ("broker", "registered", "0"),
        ("partition", "state", "foo-0"),
        ("zookeeper", "leader", server.member),
    }
    wait_until("broker, partition and leader are recorded", lambda: expected <= recorded())
    quorum.stop()
    znodes.stop()
    failures.check()
    timeline.close()


def record_metadata_log(
    members: LocalMembers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controllers = {100: members.address(CONTROLLER_PORT)}
    monkeypatch.setattr(
        "krt_traffic.recorder.metadata_log.history.Follower",
        lambda _addresses, *given, **named: Follower(controllers, *given, **named),
    )
    timeline = Timeline(tmp_path / "timeline", "r1")
    failures = Failures(threading.Event().set)
    plan = replace(members.plan, bootstrap=members.address())
    features: dict[str, int] = {}
    recorder = MetadataLogHistory(
        plan,
        line_folder(tmp_path / "metadata_log"),
        "r1",
        timeline,
        failures,
        features=features.update,
        login=members.login,
    )
    recorder.start()
    log = tmp_path / "metadata_log" / "recorder-r1.jsonl"
    wait_until("the topic is recorded", lambda: log.exists() and "foo" in log.read_text())
    assert recorder._quorum._leader(members.address())  # noqa: SLF001 - as it does while silent
    recorder.stop()
    failures.check()
    timeline.close()
    assert features["metadata.version"] > 0
    found = parse_log([("log", log.read_bytes())])
    if members.login.security.mechanism and "SCRAM" in members.login.security.mechanism:
        (user,) = (one for one in found.records if "SCRAM" in one.type)
        assert user.data == {}


def test_secured_members_log_no_secret(members: LocalMembers) -> None:
    logs = {member.member: members.log(member.member) for member in members.plan.members}
    assert no_secret(members, *logs.values())
    assert not [name for name, text in logs.items() if "storedKey" in text or "BEGIN" in text]
    # A probe of kubelet connects and says nothing; that is no failure to log each second.
    started = logs.get("controller-0", "").split("Kafka Server started")[0]
    assert "Failed authentication" not in started


def no_secret(members: LocalMembers, *texts: str) -> bool:
    password = members.credentials.password
    forms = (password, base64.b64encode(password.encode()).decode())
    return not [text for text in texts for form in forms if form in text]
