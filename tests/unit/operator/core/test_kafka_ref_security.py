"""Runs on a cluster that lets nobody in without a login: where secrets go, and what is told."""

from __future__ import annotations

import base64
import json
import logging
from typing import TYPE_CHECKING, Any

from tests.certificates import authority
from tests.unit.operator.core.test_kafka_ref import SPEC, plan_of, world_of
from tests.unit.operator.doubles.kubelets import NAMESPACE

from krt_contract.kafka_refusal import Refusal
from krt_operator.errors import RefusedError, TransientError

if TYPE_CHECKING:
    import pytest
    from tests.unit.operator.doubles.world import World

PASSWORD = "distinctive-Passw0rd"  # noqa: S105 - of a test
CA = authority("root").pem
FIELD = "spec.kafkaRef.security"
SECURITY = {
    "tls": {"trustedCertificateSecretRef": {"name": "ca"}},
    "sasl": {"mechanism": "SCRAM-SHA-512", "secretRef": {"name": "user"}},
}
REFUSAL = Refusal(f"{FIELD}.sasl.secretRef", "authentication refused by kafka as user alice")


def add_secret(world: World, name: str, **texts: str) -> None:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    meta = {"name": name, "namespace": NAMESPACE, "uid": f"secret-{name}"}
    world.put({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})


def secured(*, with_user: bool = True, **changes: Any) -> World:
    reference = {**SPEC["kafkaRef"], "security": SECURITY}
    world = world_of(**{"kafkaRef": reference, **changes})
    add_secret(world, "ca", **{"ca.crt": CA})
    if with_user:
        add_secret(world, "user", username="alice", password=PASSWORD)
    return world


def mounted(world: World, pod: str, container: str) -> bool:
    spec = world.objects["Pod", pod]["spec"]
    (found,) = (
        one
        for one in (*spec.get("initContainers", ()), *spec["containers"])
        if one["name"] == container
    )
    mounts = {one["name"]: one for one in found["volumeMounts"]}
    return bool(mounts.get("kafka", {}).get("mountPath") == "/etc/krt/kafka")


def test_secured_run_passes_and_its_password_is_nowhere_but_in_the_secret_and_the_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    world = secured()
    written = world.run_and_write()
    assert world.status["verdict"] == "Passed", world.status
    assert {login.password for login in world.logins} == {PASSWORD}
    said = [*written, *map(json.dumps, world.events), caplog.text, *map(repr, world.logins)]
    for secret in (PASSWORD, base64.b64encode(PASSWORD.encode()).decode()):
        assert [text[:200] for text in said if secret in text] == []


def test_secured_run_mounts_the_keys_in_every_pod_that_has_a_client_of_kafka() -> None:
    world = secured()
    world.run(until="Injecting")
    assert mounted(world, "t-recorder", "recorder")
    assert mounted(world, "t-producer-a-0", "traffic")
    volumes = world.objects["Pod", "t-recorder"]["spec"]["volumes"]
    (volume,) = (one for one in volumes if one["name"] == "kafka")
    assert volume["projected"]["sources"] == [
        {"secret": {"name": "ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "secret": {
                "name": "user",
                "items": [
                    {"key": "password", "path": "password"},
                    {"key": "username", "path": "username"},
                ],
            }
        },
    ]
    template = world.objects["ConfigMap", "t-scripts"]["data"]["executor.yaml"]
    assert "mountPath: /etc/krt/kafka" in template
    assert plan_of(world).resolved_spec["kafkaRef"]["security"]["sasl"]["secretRef"] == {
        "name": "user",
        "usernameKey": "username",
        "passwordKey": "password",
    }


def test_secured_run_checks_the_login_in_a_pod_before_traffic() -> None:
    world = secured()
    engine = world.controller()
    while "t-preflight-read" not in world.names_of("Pod"):
        world.tick(engine.run_once("t") or 0.01)
    assert mounted(world, "t-preflight-read", "clients")
    assert not mounted(world, "t-preflight-read", "preflight")
    world.stuck = {"t-preflight-read"}
    report = {"field": f"{FIELD}.tls", "error": "certificate of kafka has expired; renew it"}
    ended = {"exitCode": 2, "message": json.dumps(report)}
    world.objects["Pod", "t-preflight-read"]["status"] = {
        "phase": "Failed",
        "initContainerStatuses": [{"name": "clients", "state": {"terminated": ended}}],
    }
    world.run(controller=engine)
    condition = world.condition("Provisioned")
    assert condition["reason"] == "KafkaAuthenticationFailed"
    assert "certificate of kafka has expired" in condition["message"]


def test_secured_run_that_is_refused_says_so_at_once_and_builds_nothing() -> None:
    world = secured()
    world.kafka_refusal = REFUSAL
    world.run_on(seconds=1)
    condition = world.condition("Reconciling")
    assert condition["reason"] == "KafkaAuthenticationFailed"
    assert REFUSAL.message in condition["message"]
    status = world.run_on(seconds=60, pause=5)
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("Provisioned")
    assert condition["reason"] == "KafkaAuthenticationFailed"
    assert REFUSAL.field in condition["message"]
    assert world.names_of("Pod") == world.names_of("ConfigMap") == set()
    assert world.kafka_calls == []


def test_secured_run_waits_a_moment_for_its_secret() -> None:
    world = secured(with_user=False)
    world.run_on(seconds=10, pause=5)
    assert world.condition("Reconciling")["reason"] == "SecretMissing"
    add_secret(world, "user", username="alice", password=PASSWORD)
    assert world.run_on(pause=5)["phase"] == "Completed"


def test_secured_run_without_its_secret_ends_and_names_it() -> None:
    world = secured(with_user=False)
    assert world.run_on(seconds=60, pause=5)["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "SecretMissing"
    assert "Secret user does not exist" in condition["message"]


def test_secured_run_without_the_right_to_read_its_secrets_ends_with_the_remedy() -> None:
    world = secured()
    world.answers = lambda _verb, kind, _name: (
        RefusedError("HTTP 403: forbidden") if kind == "Secret" else None
    )
    assert world.run_on(seconds=60, pause=5)["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "SecretUnreadable"
    assert "kafkaRef.secretNames" in condition["message"]


def test_secured_run_whose_secret_is_deleted_goes_on_and_says_what_it_lacks() -> None:
    world = secured()
    world.run(until="CleaningUp")
    secret = world.objects.pop(("Secret", "user"))
    world.run_on(seconds=60, pause=5)
    assert world.status["phase"] == "CleaningUp"
    assert any("Secret user does not exist" in str(error) for error in world.errors)
    assert all(isinstance(error, TransientError) for error in world.errors)
    world.put(secret)
    assert world.run_on()["phase"] == "Completed"


def test_run_whose_user_lacks_rights_ends_before_traffic_and_deletes_its_topics() -> None:
    world = secured()
    world.missing_rights = ["the ACL Write on Topic krt-foo"]
    assert world.run()["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "KafkaNotAuthorized"
    assert "lacks the ACL Write on Topic krt-foo" in condition["message"]
    assert not {name for name in world.names_of("Pod") if "producer" in name}
    assert set(world.topics) == {"payments"}
