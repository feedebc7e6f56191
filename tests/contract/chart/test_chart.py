"""The chart through helm itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.contract.tools import unavailable
from tests.unit.chart.access import HEAD, access_table

from krt_contract import metrics
from krt_operator.app.settings import Settings
from krt_operator.engine.ownership import BROKER_POD_RULES

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm/kafka-resilience"
ACCESS = ROOT / "tests/golden/chart/access.txt"


@pytest.fixture(scope="session")
def helm() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    ours = Path(os.environ.get("KRT_CACHE") or f"{home}/krt") / "bin/helm"
    found = str(ours) if ours.exists() else shutil.which("helm")
    if found is None:
        unavailable("no helm: hack/tools.sh helm provides it")
    return found


def run(helm: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([helm, *arguments], capture_output=True, text=True, check=False)


def template(helm: str, *values: str) -> list[dict[str, Any]]:
    """Return the chart's objects; values as `key=value`."""
    settings = [part for value in values for part in ("--set", value)]
    done = run(
        *(helm, "template", "krt", str(CHART), "--namespace", "krt-system"),
        *("--kube-version", "1.34.0", *settings),
    )
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def test_accounts_may_do_what_the_table_says(helm: str) -> None:
    lines = [HEAD, *access_table(template(helm))]
    if os.environ.get("KRT_GOLDEN") == "write":
        ACCESS.write_text("\n".join([*lines, ""]))
    assert lines == ACCESS.read_text().splitlines()


def test_lint(helm: str) -> None:
    done = run(helm, "lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_rendered_is_current(helm: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hack.render", "--check", "--helm", helm],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("images.kafka.tag=latest", "images"),
        ("images.operator.digest=abc", "digest"),
        ("maxConcurrentTests=0", "maxConcurrentTests"),
        ("maxStartingTests=-1", "maxStartingTests"),
        ("imagePullPolicy=Sometimes", "imagePullPolicy"),
        ("watchNamespaces={Not_A_Name}", "watchNamespaces"),
        ("kafkaRef.secretNames={Not_A_Name}", "secretNames"),
        ("kafkaRef.podNamespaces={Not_A_Name}", "podNamespaces"),
        ("evidence.default=volume", "default"),
        ("evidence.objectStore.endpoint=minio:9000", "endpoint"),
        ("evidence.objectStore.storage.size=large", "size"),
        ("networkPolicy.tests.dnsPorts={0}", "dnsPorts"),
        ("networkPolicy.tests=true", "tests"),
        ("maxConcurentTests=3", "maxConcurentTests"),
    ],
)
def test_wrong_values_are_refused_by_name(helm: str, value: str, named: str) -> None:
    done = run(helm, "template", "krt", str(CHART), "--kube-version", "1.34.0", "--set", value)
    assert done.returncode != 0
    assert named in done.stderr


def test_store_of_a_long_release_name_can_have_pods(helm: str) -> None:
    # Kubernetes labels a pod with the name of its StatefulSet and a hash of up to ten characters.
    long = run(
        *(helm, "template", "team-payments-resilience-staging-of-europe", str(CHART)),
        *("--kube-version", "1.34.0", "--show-only", "templates/store.yaml"),
    )
    (store,) = [
        found for found in yaml.safe_load_all(long.stdout) if found["kind"] == "StatefulSet"
    ]
    assert len(f"{store['metadata']['name']}-0123456789") <= 63


def test_helm_test_is_placed_as_the_controller_and_let_in_by_the_stores_policy(helm: str) -> None:
    objects = template(helm, "networkPolicy.enabled=true", "nodeSelector.pool=tests")
    (pod,) = [found for found in objects if found["kind"] == "Pod"]
    assert pod["spec"]["nodeSelector"] == {"pool": "tests"}
    (allowed,) = [
        rule["from"][0]["podSelector"]["matchLabels"]
        for found in objects
        if found["kind"] == "NetworkPolicy" and found["metadata"]["name"].endswith("-store")
        for rule in found["spec"]["ingress"]
    ]
    assert allowed.items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize(("value", "group"), [("10001", 10001), ("0", None)])
def test_group_of_the_stores_volume_can_be_left_to_the_cluster(
    helm: str, value: str, group: int | None
) -> None:
    objects = template(helm, f"evidence.objectStore.fsGroup={value}")
    (store,) = [found for found in objects if found["kind"] == "StatefulSet"]
    assert store["spec"]["template"]["spec"]["securityContext"].get("fsGroup") == group


def test_template_with_old_value_fails_with_its_new_name(helm: str) -> None:
    value = "releaseOnUninstall=false"
    done = run(helm, "template", "krt", str(CHART), "--kube-version", "1.34.0", "--set", value)
    assert done.returncode != 0
    assert "it is now removeFinalizersOnUninstall" in done.stderr


def test_the_crd_is_kept_unless_said_otherwise(helm: str) -> None:
    def definitions(*values: str) -> list[dict[str, Any]]:
        return [o for o in template(helm, *values) if o["kind"] == "CustomResourceDefinition"]

    (kept,) = definitions()
    assert kept["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    (dropped,) = definitions("crds.keep=false")
    assert "annotations" not in dropped["metadata"]
    assert definitions("crds.enabled=false") == []


def test_a_digest_wins_over_a_tag(helm: str) -> None:
    digest = "sha256:" + "0" * 64
    (deployment,) = [
        one
        for one in template(
            helm,
            "images.operator.registry=here:5000",
            "images.operator.tag=abc",
            f"images.traffic.digest={digest}",
            "images.traffic.tag=abc",
        )
        if one["kind"] == "Deployment"
    ]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "here:5000/kafka-resilience/operator:abc"
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert env["KRT_IMAGE_TRAFFIC"] == f"kafka-resilience/traffic@{digest}"
    assert env["KRT_IMAGE_KAFKA"] == "apache/kafka:3.9.1"
    assert env["KRT_IMAGE_KAFKA_KRAFT"] == "apache/kafka:4.4.0"


def test_watched_namespaces_bound_the_rights(helm: str) -> None:
    objects = template(helm, "watchNamespaces={one,two}")
    everywhere = [o["metadata"]["name"] for o in objects if o["kind"] == "ClusterRoleBinding"]
    assert sorted(everywhere) == ["krt-controller-cluster", "krt-remove-finalizers"]
    bound = [o["metadata"]["namespace"] for o in objects if o["kind"] == "RoleBinding"]
    assert bound == ["krt-system", "one", "two"]


def test_namespaced_install_has_no_object_outside_its_namespaces(helm: str) -> None:
    values = ("rbac.namespaced=true", "crds.enabled=false", "watchNamespaces={one,two}")
    objects = template(helm, *values)
    outside = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}
    assert not [one for one in objects if one["kind"] in outside]
    roles = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): one["rules"]
        for one in of_kind(objects, "Role")
    }
    names = ("krt-controller", "krt-driver", "krt-recorder", "krt-remove-finalizers", "krt-traffic")
    expected = [(place, name) for place in ("one", "two") for name in names]
    assert sorted(roles) == [("krt-system", "krt-controller-key"), *expected]
    for binding in of_kind(objects, "RoleBinding"):
        assert binding["roleRef"]["kind"] == "Role"
        assert (binding["metadata"]["namespace"], binding["roleRef"]["name"]) in roles
    (bind,) = [rule for rule in roles["one", "krt-controller"] if "bind" in rule["verbs"]]
    assert bind["resources"] == ["roles"]


def test_namespaced_install_grants_what_the_cluster_install_grants(helm: str) -> None:
    def rules(kind: str, *values: str) -> dict[str, Any]:
        text = {
            one["metadata"]["name"]: yaml.safe_dump(one["rules"])
            for one in of_kind(template(helm, *values), kind)
        }
        return {
            name: yaml.safe_load(one.replace("clusterroles", "roles")) for name, one in text.items()
        }

    cluster, namespaced = rules("ClusterRole"), rules("Role", "rbac.namespaced=true")
    assert namespaced.pop("krt-controller-key") == rules("Role")["krt-controller-key"]
    assert cluster.keys() - namespaced.keys() == {
        "krt-controller-cluster",
        "krt-editor",
        "krt-viewer",
    }
    assert {name: cluster[name] for name in namespaced} == namespaced


def test_namespaced_install_watches_the_release_namespace_by_default(helm: str) -> None:
    objects = template(helm, "rbac.namespaced=true")
    (deployment,) = of_kind(objects, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert (env["KRT_WATCH_NAMESPACES"], env["KRT_ROLE_KIND"]) == ("krt-system", "Role")
    assert {one["metadata"]["namespace"] for one in of_kind(objects, "Role")} == {"krt-system"}


def test_every_pod_is_restricted(helm: str) -> None:
    pods = [
        one["spec"] if one["kind"] == "Pod" else one["spec"]["template"]["spec"]
        for one in template(helm)
        if one["kind"] in {"Pod", "Deployment", "Job", "StatefulSet"}
    ]
    assert len(pods) == 4
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]


def test_releasing_is_told_the_same_settings(helm: str) -> None:
    """`release` reads them all too, and ends with a usage error where one is missing."""
    images = {
        one["kind"]: one["spec"]["template"]["spec"]["containers"][0]["env"]
        for one in template(helm)
        if one["kind"] in {"Deployment", "Job"}
    }
    health = {"name": "KRT_HEALTH_PORT", "value": "8080"}
    ready = {"name": "KRT_READY_PORT", "value": "8081"}
    # Not the keys of the store: their Secret is gone when the hook runs.
    # Nor where the controller's own key is: the hook lets nobody into a cluster.
    keys = {"KRT_STORE_ACCESS_KEY", "KRT_STORE_SECRET_KEY", "KRT_NAMESPACE", "KRT_KEY_SECRET"}
    found = [one for one in images["Deployment"] if one["name"] not in keys]
    assert found == [*images["Job"], health, ready]
    assert len(images["Deployment"]) == len(found) + len(keys)


def of_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in objects if one["kind"] == kind]


def test_global_registry_applies_to_images_without_one(helm: str) -> None:
    objects = template(helm, "global.imageRegistry=here:5000/team", "images.kafka.registry=there")
    (deployment,) = of_kind(objects, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert container["image"] == "here:5000/team/kafka-resilience/operator:0.1.0"
    assert env["KRT_IMAGE_KAFKA"] == "there/apache/kafka:3.9.1"


def test_names_can_be_overridden_and_selectors_agree(helm: str) -> None:
    objects = template(helm, "fullnameOverride=mine", "nameOverride=other")
    (deployment,) = of_kind(objects, "Deployment")
    assert deployment["metadata"]["name"] == "mine"
    selector = deployment["spec"]["selector"]["matchLabels"]
    assert selector["app.kubernetes.io/name"] == "other"
    assert selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("values", "name", "accounts"),
    [
        ((), "krt-kafka-resilience", ["krt-kafka-resilience"]),
        (("serviceAccount.name=mine",), "mine", ["mine"]),
        (("serviceAccount.create=false",), "default", []),
        (("serviceAccount.create=false", "serviceAccount.name=mine"), "mine", []),
    ],
)
def test_service_account_is_created_and_bound_as_named(
    helm: str, values: tuple[str, ...], name: str, accounts: list[str]
) -> None:
    objects = template(helm, *values)
    (deployment,) = of_kind(objects, "Deployment")
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == name
    hook = "krt-kafka-resilience-remove-finalizers"
    created = [one["metadata"]["name"] for one in of_kind(objects, "ServiceAccount")]
    assert [one for one in created if one != hook] == accounts
    bound = {
        subject["name"]
        for one in of_kind(objects, "ClusterRoleBinding")
        for subject in one["subjects"]
    }
    assert bound == {name, hook}


def test_without_rbac_no_role_is_created(helm: str) -> None:
    kinds = {one["kind"] for one in template(helm, "rbac.create=false")}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Job"}
    assert {"Deployment", "ServiceAccount", "CustomResourceDefinition"} <= kinds


def test_pull_secrets_reach_the_controller_and_its_settings(helm: str) -> None:
    objects = template(helm, "imagePullSecrets[0].name=one", "imagePullSecrets[1].name=two")
    (deployment,) = of_kind(objects, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]
    env = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    assert env["KRT_IMAGE_PULL_SECRETS"] == "one,two"


def test_extra_environment_and_arguments_are_passed_on(helm: str) -> None:
    objects = template(
        helm, "extraEnv[0].name=KRT_LOG_LEVEL", "extraEnv[0].value=DEBUG", "extraArgs={--one}"
    )
    (deployment,) = of_kind(objects, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "KRT_LOG_LEVEL", "value": "DEBUG"} in container["env"]
    assert container["args"] == ["--one"]


def test_controller_is_ready_by_another_endpoint_than_it_is_live(helm: str) -> None:
    (deployment,) = of_kind(template(helm), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {"health": 8080, "ready": 8081, "metrics": 9090}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "ready"}


POLICIES = "networkPolicy.tests.enabled=true"
NO_STORE = "evidence.objectStore.enabled=false"
MONITORING = {
    "metrics.podMonitor.enabled=true": {"PodMonitor"},
    "metrics.trafficPodMonitor.enabled=true": {"PodMonitor"},
    "metrics.serviceMonitor.enabled=true": {"Service", "ServiceMonitor"},
    "metrics.prometheusRule.enabled=true": {"PrometheusRule"},
    "metrics.dashboard.enabled=true": {"ConfigMap"},
    "networkPolicy.enabled=true": {"NetworkPolicy"},
}


@pytest.mark.parametrize("value", MONITORING)
def test_monitoring_and_policies_are_off_until_enabled(helm: str, value: str) -> None:
    before = {one["kind"] for one in template(helm, NO_STORE)}
    assert {one["kind"] for one in template(helm, NO_STORE, value)} - before == MONITORING[value]


def test_network_policies_of_tests_need_rights_only_where_they_are_enabled(helm: str) -> None:
    before = access_table(template(helm))
    after = access_table(template(helm, POLICIES))
    assert not [line for line in before if "networkpolicies" in line]
    where = "every namespace | networking.k8s.io | networkpolicies | all"
    verbs = "create, delete, get, list, patch"
    assert set(after) - set(before) == {f"krt-kafka-resilience | {where} | {verbs}"}
    assert set(before) <= set(after)


def test_network_policies_of_tests_let_in_the_controllers_pod(
    helm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plain,) = of_kind(template(helm), "Deployment")
    (named,) = of_kind(template(helm, POLICIES, "nameOverride=other"), "Deployment")
    (scraped,) = of_kind(
        template(helm, POLICIES, "networkPolicy.metricsFrom[0].podSelector.matchLabels.app=it"),
        "Deployment",
    )
    found = {}
    for name, deployment in {"plain": plain, "named": named, "scraped": scraped}.items():
        for variable, value in environment(deployment).items():
            if isinstance(value, str | None):
                monkeypatch.setenv(variable, value or "")
        found[name] = Settings.from_environment().test_network_policies
    assert found["plain"] is None
    assert found["named"] is not None
    labels = named["spec"]["template"]["metadata"]["labels"]
    assert found["named"].controller.items() <= labels.items()
    assert "other" in found["named"].controller.values()
    assert (found["named"].metrics_from, found["named"].dns_ports) == ((), (53,))
    assert found["scraped"] is not None
    assert found["scraped"].metrics_from == ({"podSelector": {"matchLabels": {"app": "it"}}},)


@pytest.mark.parametrize("name", ["podMonitor", "serviceMonitor", "prometheusRule"])
def test_monitoring_of_a_controller_without_metrics_is_not_rendered(helm: str, name: str) -> None:
    value = f"metrics.{name}.enabled=true"
    kinds = {one["kind"] for one in template(helm, NO_STORE, value, "metrics.port=0")}
    assert not kinds & MONITORING[value]


def test_monitors_select_ports_that_exist(helm: str) -> None:
    objects = template(
        helm, NO_STORE, "metrics.podMonitor.enabled=true", "metrics.serviceMonitor.enabled=true"
    )
    (deployment,) = of_kind(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    (pod_monitor,) = of_kind(objects, "PodMonitor")
    assert pod_monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (service,) = of_kind(objects, "Service")
    assert service["spec"]["selector"].items() <= labels.items()
    (monitor,) = of_kind(objects, "ServiceMonitor")
    selected = monitor["spec"]["selector"]["matchLabels"]
    assert selected.items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


@pytest.mark.parametrize("role", ["producer-plain-0", "consumer-reader-0", "recorder"])
def test_monitor_of_traffic_selects_the_pods_that_the_controller_builds(
    helm: str, role: str
) -> None:
    (monitor,) = of_kind(template(helm, "metrics.trafficPodMonitor.enabled=true"), "PodMonitor")
    built = ROOT / f"tests/golden/operator/pod-leader-crash-{role}.yaml"
    pod = yaml.safe_load(built.read_text())
    assert selects(monitor, pod["metadata"]["labels"])
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (port,) = [one for one in pod["spec"]["containers"][0]["ports"] if one["name"] == "metrics"]
    assert (endpoint["port"], port["containerPort"]) == ("metrics", metrics.PORT)


def test_monitor_of_traffic_selects_no_broker_and_no_controller(helm: str) -> None:
    objects = template(helm, "metrics.trafficPodMonitor.enabled=true")
    (monitor,), (deployment,) = of_kind(objects, "PodMonitor"), of_kind(objects, "Deployment")
    broker = ROOT / "tests/golden/operator/statefulset-leader-crash-kafka-0.yaml"
    for owner in (deployment, yaml.safe_load(broker.read_text())):
        assert not selects(monitor, owner["spec"]["template"]["metadata"]["labels"])


def test_monitor_of_traffic_looks_where_tests_are_run(helm: str) -> None:
    enabled = "metrics.trafficPodMonitor.enabled=true"
    places = {
        (): {"any": True},
        ("watchNamespaces={one,two}",): {"matchNames": ["one", "two"]},
        ("rbac.namespaced=true",): {"matchNames": ["krt-system"]},
    }
    for values, expected in places.items():
        (monitor,) = of_kind(template(helm, enabled, *values), "PodMonitor")
        assert monitor["spec"]["namespaceSelector"] == expected


def test_dashboards_are_json_in_one_config_map(helm: str) -> None:
    (found,) = of_kind(template(helm, NO_STORE, "metrics.dashboard.enabled=true"), "ConfigMap")
    titles = {json.loads(text)["title"] for text in found["data"].values()}
    assert titles == {"Kafka resilience tests", "Kafka resilience: one test"}


def selects(monitor: dict[str, Any], labels: dict[str, str]) -> bool:
    selector = monitor["spec"]["selector"]
    return selector["matchLabels"].items() <= labels.items() and all(
        labels.get(one["key"]) in one["values"] for one in selector["matchExpressions"]
    )


def environment(deployment: dict[str, Any]) -> dict[str, Any]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value") or one.get("valueFrom") for one in container["env"]}


def test_store_of_the_chart_and_the_controller_have_the_same_keys_and_address(helm: str) -> None:
    objects = template(helm)
    (store,), (deployment,) = of_kind(objects, "StatefulSet"), of_kind(objects, "Deployment")
    (service,), (secret,) = of_kind(objects, "Service"), of_kind(objects, "Secret")
    found, served = environment(deployment), environment(store)
    given = {f"KRT_{name.upper()}" for name in Settings.model_fields} - {"KRT_STORE_CA_FILE"}
    assert given <= set(found)
    for name in ("KRT_STORE_ACCESS_KEY", "KRT_STORE_SECRET_KEY", "KRT_STORE_BUCKET"):
        assert found[name] == served[name]
    reference = found["KRT_STORE_SECRET_KEY"]["secretKeyRef"]
    assert reference["name"] == secret["metadata"]["name"]
    assert reference["key"] in secret["data"]
    host = f"{service['metadata']['name']}.krt-system.svc"
    assert found["KRT_STORE_ENDPOINT"] == f"http://{host}:{service['spec']['ports'][0]['port']}"
    labels = store["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    # Nothing that selects the controller selects the store.
    assert not deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert store["spec"]["volumeClaimTemplates"][0]["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_bucket_of_ones_own_replaces_the_store_of_the_chart(helm: str) -> None:
    own = (
        *(NO_STORE, "evidence.objectStore.bucket=ours"),
        "evidence.objectStore.endpoint=https://minio.example.com:9000",
    )
    objects = template(helm, *own)
    assert not of_kind(objects, "StatefulSet")
    assert not of_kind(objects, "Secret")
    (deployment,) = of_kind(objects, "Deployment")
    found = environment(deployment)
    assert found["KRT_STORE_BUCKET"] == "ours"
    assert found["KRT_STORE_ENDPOINT"] == "https://minio.example.com:9000"
    assert "KRT_STORE_SECRET_KEY" not in found
    (deployment,) = of_kind(
        template(helm, *own, "evidence.objectStore.credentials.secretName=keys"), "Deployment"
    )
    reference = environment(deployment)["KRT_STORE_SECRET_KEY"]["secretKeyRef"]
    assert reference["name"] == "keys"


@pytest.mark.parametrize(
    ("named", "source"),
    [
        (
            "secretName=minio-ca",
            {"secret": {"secretName": "minio-ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        ),
        (
            "configMapName=bundle",
            {"configMap": {"name": "bundle", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        ),
    ],
)
def test_ca_of_a_bucket_of_ones_own_is_mounted_where_the_controller_looks_for_it(
    helm: str, named: str, source: dict[str, Any]
) -> None:
    own = (NO_STORE, "evidence.objectStore.bucket=ours", f"evidence.objectStore.ca.{named}")
    (deployment,) = of_kind(template(helm, *own), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert {"name": "store-ca", **source} in pod["volumes"]
    (mount,) = (m for m in pod["containers"][0]["volumeMounts"] if m["name"] == "store-ca")
    assert environment(deployment)["KRT_STORE_CA_FILE"] == f"{mount['mountPath']}/ca.crt"


def test_ca_is_not_mounted_for_the_store_of_the_chart_and_one_kind_of_it_is_enough(
    helm: str,
) -> None:
    (deployment,) = of_kind(
        template(helm, "evidence.objectStore.ca.secretName=minio-ca"), "Deployment"
    )
    assert "KRT_STORE_CA_FILE" not in environment(deployment)
    done = run(
        *(helm, "template", "krt", str(CHART), "--kube-version", "1.34.0"),
        *("--set", "evidence.objectStore.ca.secretName=a"),
        *("--set", "evidence.objectStore.ca.configMapName=b"),
    )
    assert "leave one of them out" in done.stderr


def test_annotations_of_the_accounts_of_tests_reach_the_controller_as_they_are(helm: str) -> None:
    role = "arn:aws:iam::111122223333:role/krt"
    value = f"testServiceAccounts.annotations.eks\\.amazonaws\\.com/role-arn={role}"
    (deployment,) = of_kind(template(helm, value), "Deployment")
    text = environment(deployment)["KRT_TEST_ACCOUNT_ANNOTATIONS"]
    assert json.loads(text) == {"eks.amazonaws.com/role-arn": role}
    # The controller's own account does not have the rights of the pods.
    for account in of_kind(template(helm, value), "ServiceAccount"):
        assert role not in account["metadata"].get("annotations", {}).values()


def test_controller_may_create_secrets_and_get_the_one_with_its_key(helm: str) -> None:
    def rights(kind: str, objects: list[dict[str, Any]]) -> list[tuple[str, list[str], list[str]]]:
        return [
            (role["metadata"].get("namespace", ""), rule.get("resourceNames", []), rule["verbs"])
            for role in of_kind(objects, kind)
            for rule in role["rules"]
            if "secrets" in rule["resources"]
        ]

    objects = template(helm)
    assert rights("ClusterRole", objects) == [("", [], ["create"])]
    name = "krt-kafka-resilience-key"
    assert rights("Role", objects) == [
        ("krt-system", [], ["create"]),
        ("krt-system", [name], ["get"]),
    ]
    (deployment,) = of_kind(objects, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    env = {one["name"]: one for one in container["env"]}
    assert env["KRT_KEY_SECRET"]["value"] == name
    assert env["KRT_NAMESPACE"]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.namespace"}}


def test_controller_may_read_the_secrets_that_are_listed_and_no_others(helm: str) -> None:
    def read(kind: str, *values: str) -> list[tuple[str, list[str]]]:
        return [
            (role["metadata"].get("namespace", ""), rule["resourceNames"])
            for role in of_kind(template(helm, *values), kind)
            for rule in role["rules"]
            if role["metadata"]["name"] != "krt-controller-key"
            if "secrets" in rule["resources"] and rule["verbs"] == ["get"]
        ]

    listed = "kafkaRef.secretNames={kafka-ca,kafka-user}"
    names = ["kafka-ca", "kafka-user"]
    assert read("ClusterRole", listed) == [("", names)]
    namespaced = ("rbac.namespaced=true", "watchNamespaces={a,b}")
    assert read("Role", listed, *namespaced) == [("a", names), ("b", names)]
    assert read("ClusterRole") == []


def test_controller_may_act_on_pods_of_brokers_in_the_namespaces_that_are_listed(helm: str) -> None:
    def granted(*values: str) -> list[tuple[str, Any]]:
        return [
            (role["metadata"]["namespace"], role.get("rules") or role["subjects"])
            for kind in ("Role", "RoleBinding")
            for role in of_kind(template(helm, *values), kind)
            if role["metadata"]["name"] == "krt-broker-pods"
        ]

    assert granted() == []
    rules = list(BROKER_POD_RULES)
    account = {"name": "krt-kafka-resilience", "namespace": "krt-system"}
    subjects = [{"kind": "ServiceAccount", **account}]
    expected = [("a", rules), ("b", rules), ("a", subjects), ("b", subjects)]
    for namespaced in ("true", "false"):
        values = ("kafkaRef.podNamespaces={a,b}", f"rbac.namespaced={namespaced}")
        assert granted(*values) == expected
