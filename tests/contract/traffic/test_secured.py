"""Clients of a real broker that wants TLS and a password or a certificate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import ResourceType  # type: ignore[attr-defined]
from tests.certificates import Signed, certificate
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_secure import (
    BETWEEN,
    OTHER,
    PASSWORD,
    USER,
    SecureKafka,
    login,
    security,
)
from tests.contract.traffic.pods import Pods, plan_document
from tests.contract.traffic.test_polling import Recorder, last, seen, told
from tests.contract.traffic.test_traffic import acked, identities

from krt_contract.kafka_security import FIELD
from krt_contract.metadata import MetadataMode
from krt_traffic.errors import UnusableError
from krt_traffic.reach import FIELD as SERVERS
from krt_traffic.reach import check_reach

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.control_api import ControlApi

CLIENT = certificate("krt-client", BETWEEN)
KNOWN: dict[str, Any] = {"user": USER, "password": PASSWORD}

ACCEPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "SCRAM-SHA-512 over TLS": ("SCRAM", KNOWN),
    "SCRAM-SHA-256 over TLS": ("SCRAM", KNOWN | {"mechanism": "SCRAM-SHA-256"}),
    "PLAIN over TLS": ("SCRAM", KNOWN | {"mechanism": "PLAIN"}),
    "SCRAM in plaintext": ("CLEAR", KNOWN | {"ca": None}),
    "a certificate of a CA below the root": ("MUTUAL", {"client": CLIENT}),
}
"""A listener, and a login that it accepts."""

REFUSED: dict[str, tuple[str, dict[str, Any], str, tuple[str, ...]]] = {
    "a wrong password": (
        "SCRAM",
        {"user": USER, "password": "wrong"},
        f"{FIELD}.sasl.secretRef",
        ("authentication refused by 127.0.0.1:", f"as user {USER}", "in Secret user"),
    ),
    "a user that is not there": (
        "SCRAM",
        {"user": "nobody", "password": PASSWORD},
        f"{FIELD}.sasl.secretRef",
        ("authentication refused", "as user nobody"),
    ),
    "a CA that has not signed": (
        "SCRAM",
        KNOWN | {"ca": OTHER},
        f"{FIELD}.tls.trustedCertificateSecretRef",
        ("certificate of 127.0.0.1:", "is not signed by the CAs of Secret ca"),
    ),
    "a certificate that has expired": (
        "EXPIRED",
        KNOWN,
        f"{FIELD}.tls",
        ("certificate of 127.0.0.1:", "certificate has expired"),
    ),
    "a certificate of another host": (
        "MISNAMED",
        KNOWN,
        SERVERS,
        ("certificate of 127.0.0.1:", "is not of this host"),
    ),
    "no certificate of the client": (
        "MUTUAL",
        {},
        f"{FIELD}.tls",
        ("wants a certificate of the client", "tls.certificateSecretRef"),
    ),
    "a certificate of the client by somebody else": (
        "MUTUAL",
        {"client": certificate("krt-client", OTHER)},
        f"{FIELD}.tls.certificateSecretRef",
        ("refuses the certificate of Secret client",),
    ),
    "plaintext where TLS is wanted": ("SCRAM", {"ca": None}, FIELD, ("wants TLS",)),
    "TLS where there is none": ("PLAINTEXT", {}, f"{FIELD}.tls", ("no TLS",)),
}
"""A listener, a login that it refuses, and the field and the words of the message."""


@pytest.mark.parametrize("case", ACCEPTED)
def test_check_reach_with_a_login_that_is_accepted_passes(
    secure: SecureKafka, tmp_path: Path, case: str
) -> None:
    listener, arguments = ACCEPTED[case]
    check_reach(secure.address(listener), login(tmp_path, **arguments))


@pytest.mark.parametrize("case", REFUSED)
def test_check_reach_with_a_login_that_is_refused_says_why(
    secure: SecureKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr("krt_traffic.reach.METADATA_SECONDS", 2.0)
    listener, arguments, field, words = REFUSED[case]
    began = time.monotonic()
    with pytest.raises(UnusableError) as caught:
        check_reach(secure.address(listener), login(tmp_path, **arguments))
    assert time.monotonic() - began < 10
    for word in words:
        assert word in str(caught.value)
    assert caught.value.field == field
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("case", ACCEPTED)
def test_polling_of_a_secured_cluster_sees_topics_and_the_quorum(
    secure: SecureKafka, tmp_path: Path, case: str
) -> None:
    listener, arguments = ACCEPTED[case]
    topic = "foo"  # the one that `Recorder` follows
    if topic not in secure.admin().list_topics(timeout=20).topics:
        secure.create_topic(topic, 2)
        secure.grant(USER, {ResourceType.TOPIC: {topic: ("DESCRIBE",)}})
    bundle = tmp_path / "bundle"
    recorder = Recorder(
        [secure.address(listener)],
        MetadataMode.KRAFT,
        bundle,
        login(tmp_path / "secrets", **arguments),
    ).start()
    wait_until("the topic is seen", lambda: seen(bundle, "state", f"{topic}-1"))
    wait_until("the leader of the quorum is seen", lambda: seen(bundle, "elected", "1"))
    recorder.stop()
    assert last(bundle)[f"{topic}-0"]["leader"] == 1
    assert {item["subject"] for item in told(bundle) if item["event"] == "registered"} == {"1"}
    assert not seen(bundle, "gap")


@pytest.mark.parametrize("kind", ["idempotent", "transactional"])
def test_traffic_of_a_secured_cluster_is_read_to_the_end_and_leaves_no_password(
    secure: SecureKafka, api: ControlApi, tmp_path: Path, kind: str
) -> None:
    topic = f"krt-{kind}"
    secure.create_topic(topic, 2)
    producer: dict[str, Any] = {"enableIdempotence": True}
    if kind == "transactional":
        producer["transactional"] = {"recordsPerTransaction": 20, "abortPermille": 300}
    plan = plan_document(
        secure, topic, 2, producer=producer, consumer={"group": f"krt-group-{kind}"}
    )
    plan["spec"]["kafkaRef"] = {"prefix": "krt-", "security": security()}
    plan["metadata"] = {"mode": "KRaft", "referenced": True}
    plan["members"] = []
    secrets = tmp_path / "secrets"
    login(secrets, **KNOWN)
    pods = Pods(tmp_path / "run", api, plan, secrets)
    assert pods.start("preflight", "", "check").wait(60) == 0, pods.log("check")
    api.set("Produce")
    writer, reader = pods.start("producer", "main", "p1"), pods.start("consumer", "read", "c1")
    wait_until("sends are acked", lambda: acked(pods) >= 300)
    api.set("StopProducing")
    assert writer.wait(60) == 0, pods.log("p1")
    ends = {str(number): secure.end(topic, number) for number in range(2)}
    api.set("Drain", {topic: ends})
    assert reader.wait(60) == 0, pods.log("c1")
    sent = [row for row in pods.rows("produce") if row["outcome"] == "acked"]
    assert identities(pods.rows("consume")) == identities(sent)
    left = [path for path in pods.folder.rglob("*") if path.is_file()]
    assert len(left) > 5
    assert [path for path in left if PASSWORD.encode() in path.read_bytes()] == []


def test_traffic_with_a_certificate_that_is_refused_ends_the_preflight(
    secure: SecureKafka, api: ControlApi, tmp_path: Path
) -> None:
    plan = plan_document(secure, "krt-none", 1)
    plan["bootstrap"] = secure.address("MUTUAL")
    plan["spec"]["kafkaRef"] = {"prefix": "krt-", "security": security(user=False, client=True)}
    plan["metadata"] = {"mode": "KRaft", "referenced": True}
    plan["members"] = []
    secrets = tmp_path / "secrets"
    login(secrets, client=Signed(CLIENT.certificate, CLIENT.key))
    pods = Pods(tmp_path / "run", api, plan, secrets)
    assert pods.start("preflight", "", "check").wait(60) == 2, pods.log("check")
    assert pods.message("check")["field"] == f"{FIELD}.tls.certificateSecretRef"
