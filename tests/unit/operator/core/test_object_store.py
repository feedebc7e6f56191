"""A run whose evidence goes into an object store: its own, or the one of the chart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.doubles.world import SETTINGS, World

from krt_contract.stores.settings import ObjectStoreSettings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHART_STORE = SETTINGS.model_copy(
    update={
        "store_bucket": "evidence",
        "store_endpoint": "http://store.krt-system.svc:9000",
        "store_access_key": "the-key",
        "store_secret_key": type(SETTINGS.store_secret_key)("the-secret"),
    }
)
CHART_BUCKET = CHART_STORE.model_copy(
    update={"store_endpoint": "https://minio.example.com:9000", "store_access_key": ""}
)
"""A bucket that the chart names, and that pods reach by their identity."""
ROLE = {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/krt"}
KEYS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
OWN: dict[str, Any] = {
    "bucket": "our-bucket",
    "endpoint": "https://minio.example.com:9000",
    "region": "eu-west-1",
    "prefix": "kafka/tests",
    "pathStyle": False,
    "credentials": {"secretName": "our-keys"},
}


def pods_of(world: World) -> dict[str, Any]:
    """Specs of all pods that read or write evidence, by a name of what they are."""
    found = {
        name: obj["spec"]
        for (kind, name), obj in world.objects.items()
        if kind == "Pod" and any(each["name"] == "evidence" for each in obj["spec"]["volumes"])
    }
    template = world.objects["ConfigMap", "t-scripts"]["data"]["executor.yaml"]
    found["executor"] = json.loads(json.dumps(_yaml(template)))["spec"]
    return found


def _yaml(text: str) -> Any:
    import yaml  # noqa: PLC0415 - only here

    return yaml.safe_load(text)


def containers(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for container in spec["containers"]:
        if any(mount["name"] == "evidence" for mount in container["volumeMounts"]):
            yield container


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container["env"] if "value" in item}


def secrets(container: dict[str, Any]) -> dict[str, str]:
    references = (item.get("valueFrom", {}).get("secretKeyRef") for item in container["env"])
    return {each["key"]: each["name"] for each in references if each}


def test_run_with_a_bucket_of_its_own_gives_every_pod_its_settings_and_no_claim() -> None:
    world = World(evidence={"objectStore": OWN})
    world.run(until="Injecting")
    assert world.names_of("PersistentVolumeClaim") & {"krt-evidence"} == set()
    found = pods_of(world)
    assert {"t-recorder", "executor"} < set(found)
    assert any("producer" in name for name in found)
    for name, spec in found.items():
        (volume,) = (each for each in spec["volumes"] if each["name"] == "evidence")
        assert "emptyDir" in volume, name
        for container in containers(spec):
            assert ObjectStoreSettings.read(environment(container)) == ObjectStoreSettings(
                bucket="our-bucket",
                endpoint="https://minio.example.com:9000",
                region="eu-west-1",
                prefix="kafka/tests",
                path_style=False,
            )
            assert secrets(container) == dict.fromkeys(KEYS, "our-keys")
    assert world.names_of("Secret") == set()
    assert world.run()["verdict"] == "Passed"


def test_executors_work_where_the_driver_has_its_copy_of_an_object_store() -> None:
    """Spark unpacks copies of small tables below it: one path names a file on each of them."""
    for evidence, directory in (({"objectStore": OWN}, "/evidence"), ({}, None)):
        world = World(evidence=evidence)
        world.run(until="Injecting")
        (container,) = pods_of(world)["executor"]["containers"]
        assert container.get("workingDir") == directory
        assert {"name": "evidence", "mountPath": "/evidence"} in container["volumeMounts"]


def test_run_with_a_bucket_without_keys_leaves_them_to_the_identity_of_the_pods() -> None:
    world = World(evidence={"objectStore": {"bucket": "our-bucket"}})
    world.run(until="Injecting")
    for spec in pods_of(world).values():
        for container in containers(spec):
            assert secrets(container) == {}


@pytest.mark.parametrize(
    ("evidence", "default"), [({"objectStore": {}}, "claim"), ({}, "objectStore")]
)
def test_run_in_the_store_of_the_chart_has_a_secret_of_its_own_before_any_pod(
    evidence: dict[str, Any], default: str
) -> None:
    world = World(evidence=evidence)
    settings = CHART_STORE.model_copy(update={"evidence_default": default})
    world.run(until="Provisioning", controller=world.controller(settings))
    assert world.names_of("Pod") == set()
    (name,) = world.names_of("Secret")
    secret = world.objects["Secret", name]
    assert name == "t-store-uid-t"
    assert secret["stringData"] == {
        "AWS_ACCESS_KEY_ID": "the-key",
        "AWS_SECRET_ACCESS_KEY": "the-secret",
    }
    assert [owner["name"] for owner in secret["metadata"]["ownerReferences"]] == ["t"]
    world.run(until="Injecting", controller=world.controller(settings))
    for spec in pods_of(world).values():
        for container in containers(spec):
            assert secrets(container) == dict.fromkeys(KEYS, name)
    assert world.run(controller=world.controller(settings))["verdict"] == "Passed"


def test_keys_of_the_store_are_in_the_secret_alone() -> None:
    world = World(evidence={"objectStore": {}})
    world.run(controller=world.controller(CHART_STORE))
    for (kind, name), obj in world.objects.items():
        if kind != "Secret":
            assert "the-secret" not in json.dumps(obj, default=str), (kind, name)
            assert "the-key" not in json.dumps(obj, default=str), (kind, name)
    assert "the-secret" not in repr(CHART_STORE)


def test_test_names_a_folder_in_the_store_of_the_chart() -> None:
    world = World(evidence={"objectStore": {"prefix": "team-a"}})
    world.run(until="Injecting", controller=world.controller(CHART_STORE))
    for spec in pods_of(world).values():
        for container in containers(spec):
            found = ObjectStoreSettings.read(environment(container))
            assert found is not None
            assert (found.bucket, found.prefix) == ("evidence", "team-a")


def test_run_in_a_store_that_the_chart_does_not_have_says_what_to_set() -> None:
    world = World(evidence={"objectStore": {}})
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("Provisioned")
    assert condition["reason"] == "EvidenceStoreMissing"
    assert "evidence.objectStore.enabled" in condition["message"]


def test_claim_named_in_the_test_is_used_although_the_default_is_the_store() -> None:
    world = World(evidence={"claimName": "krt-evidence"})
    settings = CHART_STORE.model_copy(update={"evidence_default": "objectStore"})
    assert world.run(controller=world.controller(settings))["verdict"] == "Passed"
    assert "krt-evidence" in world.names_of("PersistentVolumeClaim")
    assert world.names_of("Secret") == set()


def test_store_that_refuses_ends_the_run_with_what_it_said_and_what_to_check() -> None:
    world = World(evidence={"objectStore": OWN})
    world.preflight = (6, "the object store of spec.evidence did not serve x: AccessDenied")
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("Provisioned")
    assert condition["reason"] == "EvidenceNotWritable"
    assert "spec.evidence.objectStore" in condition["message"]
    assert "bucket our-bucket/kafka/tests at https://minio.example.com:9000" in condition["message"]
    assert "AccessDenied" in condition["message"]


def test_preflight_of_a_store_whose_secret_is_missing_names_the_secret() -> None:
    world = World(evidence={"objectStore": OWN})
    world.preflight = None
    world.stuck = {"t-preflight-write"}
    world.run()
    condition = world.condition("Provisioned")
    assert condition["reason"] == "PreflightTimedOut"
    assert "the Secret with the keys of the object store" in condition["message"]


def ca_volumes(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [volume for volume in spec["volumes"] if volume["name"] == "store-ca"]


@pytest.mark.parametrize(
    ("named", "source"),
    [
        (
            {"secretName": "minio-ca"},
            {
                "secret": {
                    "secretName": "minio-ca",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
        ),
        (
            {"configMapName": "bundle", "key": "root.pem"},
            {"configMap": {"name": "bundle", "items": [{"key": "root.pem", "path": "ca.crt"}]}},
        ),
    ],
)
def test_run_with_a_ca_mounts_it_where_the_clients_look_for_it(
    named: dict[str, Any], source: dict[str, Any]
) -> None:
    world = World(evidence={"objectStore": {**OWN, "ca": named}})
    world.run(until="Injecting")
    for name, spec in pods_of(world).items():
        assert ca_volumes(spec) == [{"name": "store-ca", **source}], name
        for container in containers(spec):
            found = ObjectStoreSettings.read(environment(container))
            assert found is not None
            (mount,) = (m for m in container["volumeMounts"] if m["name"] == "store-ca")
            assert found.ca_file == f"{mount['mountPath']}/ca.crt"
            assert mount["readOnly"] is True
    assert world.run()["verdict"] == "Passed"


def test_run_without_a_ca_mounts_none() -> None:
    world = World(evidence={"objectStore": OWN})
    world.run(until="Injecting")
    for spec in pods_of(world).values():
        assert ca_volumes(spec) == []
        for container in containers(spec):
            assert "KRT_STORE_CA_FILE" not in environment(container)


def test_run_in_a_bucket_of_the_chart_has_a_copy_of_its_ca_before_any_pod(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text("-----BEGIN CERTIFICATE-----\n")
    settings = CHART_BUCKET.model_copy(update={"store_ca_file": str(file)})
    world = World(evidence={"objectStore": {}})
    world.run(until="Provisioning", controller=world.controller(settings))
    assert world.names_of("Pod") == set()
    copy = world.objects["ConfigMap", "t-store-ca"]
    assert copy["data"] == {"ca.crt": "-----BEGIN CERTIFICATE-----\n"}
    assert [owner["name"] for owner in copy["metadata"]["ownerReferences"]] == ["t"]
    world.run(until="Injecting", controller=world.controller(settings))
    for spec in pods_of(world).values():
        (volume,) = ca_volumes(spec)
        assert volume["configMap"]["name"] == "t-store-ca"
    assert world.run(controller=world.controller(settings))["verdict"] == "Passed"
    # For krt evidence, whose pod mounts it, too.
    assert ("ConfigMap", "t-store-ca") in world.objects


def test_run_without_keys_gives_every_pod_an_account_with_the_annotations() -> None:
    settings = SETTINGS.model_copy(update={"test_account_annotations": ROLE})
    world = World(evidence={"objectStore": {"bucket": "our-bucket"}})
    world.run(until="Provisioning", controller=world.controller(settings))
    assert world.names_of("Pod") == set()
    assert world.names_of("ServiceAccount") == {"t-evidence"}
    world.run(until="Injecting", controller=world.controller(settings))
    accounts = world.names_of("ServiceAccount")
    assert accounts == {"t-evidence", "t-recorder", "t-traffic", "t-scoring"}
    for account in (world.objects["ServiceAccount", name] for name in accounts):
        assert ROLE.items() <= account["metadata"]["annotations"].items()
        assert account["automountServiceAccountToken"] is False
    used = {name: spec.get("serviceAccountName") for name, spec in pods_of(world).items()}
    assert used.pop("executor") == "t-evidence"
    assert set(used.values()) == {"t-recorder", "t-traffic"}
    bound = {
        subject["name"]
        for (kind, _), obj in world.objects.items()
        if kind == "RoleBinding"
        for subject in obj["subjects"]
    }
    assert "t-evidence" not in bound
    assert world.run(controller=world.controller(settings))["verdict"] == "Passed"
    # For krt evidence, whose pod has it, too.
    assert "t-evidence" in world.names_of("ServiceAccount")


@pytest.mark.parametrize("role", ["write", "read"])
def test_preflight_of_a_bucket_without_keys_tries_the_identity(role: str) -> None:
    world = World(evidence={"objectStore": {"bucket": "our-bucket"}})
    engine = world.controller()
    while ("Pod", f"t-preflight-{role}") not in world.objects:
        world.tick(engine.run_once("t") or 0.01)
    spec = world.objects["Pod", f"t-preflight-{role}"]["spec"]
    assert spec["serviceAccountName"] == "t-evidence"
    assert spec["automountServiceAccountToken"] is False


@pytest.mark.parametrize("evidence", [{"claimName": "krt-evidence"}, {"objectStore": OWN}])
def test_run_with_a_claim_or_keys_needs_no_account_for_its_evidence(
    evidence: dict[str, Any],
) -> None:
    world = World(evidence=evidence)
    world.run(until="Injecting")
    assert "t-evidence" not in world.names_of("ServiceAccount")
    assert "serviceAccountName" not in pods_of(world)["executor"]
